"""pywavelets: discrete, stationary, continuous, packets and several dimensions; what goes in comes out."""

import numpy as np
import pywt

signal = np.sin(np.linspace(0, 20, 512)) + np.random.default_rng(0).normal(size=512) / 10
for name in ("haar", "db8", "sym5", "coif3", "bior4.4"):
    parts = pywt.wavedec(signal, name, level=3)
    assert np.allclose(pywt.waverec(parts, name), signal, atol=1e-6), name
assert np.allclose(pywt.dwt([1, 2, 3, 4], "db1"), [[2.1213203, 4.9497475], [-0.7071068, -0.7071068]])
assert np.allclose(pywt.iswt(pywt.swt(signal, "db2", level=2), "db2"), signal)
image = np.random.default_rng(1).random((64, 48))
assert np.allclose(pywt.waverec2(pywt.wavedec2(image, "db3"), "db3"), image)
volume = np.random.default_rng(2).random((8, 12, 16)) + 1j
assert np.allclose(pywt.idwtn(pywt.dwtn(volume, "haar"), "haar"), volume)
coefficients, frequencies = pywt.cwt(signal, np.arange(1, 32), "morl")
assert coefficients.shape == (31, 512) and frequencies[0] > frequencies[-1]
packet = pywt.WaveletPacket(signal, "db1", maxlevel=3)
assert len(packet.get_level(3)) == 8 and np.allclose(packet.reconstruct(), signal)
threshold = pywt.threshold(np.array([-2.0, 0.5, 3.0]), 1, "soft")
assert threshold.tolist() == [-1, 0, 2]
assert len(pywt.wavelist(kind="discrete")) > 100
try:
    pywt.Wavelet("no such")
except ValueError:
    pass
else:
    raise AssertionError("an unknown wavelet")
print("pywavelets: all of it works")
