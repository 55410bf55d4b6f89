import numpy as np
import pywt

rng = np.random.default_rng(9)
t = np.linspace(0, 1, 512, endpoint=False)
clean = np.sin(2 * np.pi * 4 * t) + (t > 0.5)
noisy = clean + rng.normal(0, 0.25, t.size)
coeffs = pywt.wavedec(noisy, 'db4', level=4)
print([len(c) for c in coeffs], pywt.Wavelet('db4').dec_len, pywt.dwt_max_level(512, 'db4'))
sigma = np.median(np.abs(coeffs[-1])) / 0.6745
threshold = sigma * np.sqrt(2 * np.log(t.size))
print(f'sigma {sigma:.4f} threshold {threshold:.4f}')
denoised = pywt.waverec([coeffs[0]] + [pywt.threshold(c, threshold, 'soft') for c in coeffs[1:]], 'db4')
rms = lambda v: float(np.sqrt(np.mean((v - clean) ** 2)))  # noqa: E731
print(f'rms before {rms(noisy):.4f} after {rms(denoised):.4f}')
cA, cD = pywt.dwt([1, 2, 3, 4], 'haar')
print(cA.round(6), cD.round(6), pywt.idwt(cA, cD, 'haar').round(6))
img = np.outer(np.arange(8), np.ones(8))
a2, (h, v, d) = pywt.dwt2(img, 'haar')
print(a2.shape, h.round(4)[0, :2], np.abs(d).max().round(6))
scales = np.arange(1, 17)
cwt, freqs = pywt.cwt(noisy, scales, 'morl', sampling_period=1 / 512)
print(cwt.shape, freqs[[0, -1]].round(3), int(np.abs(cwt).sum(1).argmax()))
print(pywt.families()[:4], len(pywt.wavelist()) > 100, pywt.Modes.modes[:3])
print(pywt.Wavelet('sym3'))
wp = pywt.WaveletPacket([1, 2, 3, 4, 5, 6, 7, 8], 'db1', maxlevel=2)
print(
    [node.path for node in wp.get_level(2)],
    wp['aa'].data.round(6),
    pywt.swt([1, 2, 3, 4], 'haar', level=1)[0][0].round(6),
)
for action in (
    lambda: pywt.Wavelet('nope'),
    lambda: pywt.dwt([1, 2], 'haar', mode='x'),
    lambda: pywt.swt([1, 2, 3], 'haar'),
):
    try:
        action()
    except ValueError as e:
        print('ValueError:', str(e).splitlines()[0])
pywt.wavedec([1, 2, 3, 4], 'db4', level=6)
pywt.wavedec([1, 2, 3, 4], 'db4', level=-1)
