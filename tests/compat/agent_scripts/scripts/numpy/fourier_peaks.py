import numpy as np

fs = 256
t = np.arange(fs * 2) / fs
signal = 1.5 * np.sin(2 * np.pi * 12 * t) + 0.7 * np.cos(2 * np.pi * 40 * t) + 0.2
spectrum = np.fft.rfft(signal)
freqs = np.fft.rfftfreq(signal.size, 1 / fs)
power = np.abs(spectrum) / signal.size * 2
top = np.argsort(power)[::-1][:3]
for i in top:
    print(f'{freqs[i]:6.1f} Hz amplitude {power[i]:.4f}')
print(np.allclose(np.fft.irfft(spectrum), signal), spectrum.shape, spectrum.dtype)
print(np.fft.fft([1, 2, 3, 4]))
print(np.fft.fftshift(np.fft.fftfreq(8)), np.fft.fft2(np.eye(2)).real)
print(np.fft.rfft(np.ones(4, dtype=np.float32)).dtype, np.fft.ifft(np.fft.fft([1, 0, 0])).real.round(6))
kernel = np.hanning(9)
print(np.convolve(np.ones(5), [1, 2, 1], mode='same'), (kernel / kernel.sum()).round(4), np.kaiser(5, 14).round(4))
print(np.correlate([1, 2, 3], [0, 1, 0.5], 'full'), np.unwrap([0, 3, 6.5]).round(4), np.sinc([0, 0.5]).round(6))
print(np.interp([0.5, 2.5], [0, 1, 2], [0, 10, 20]), np.trapezoid([1, 2, 3], dx=0.5), np.gradient([1, 4, 9, 16]))
try:
    np.fft.fft([])
except ValueError as e:
    print('ValueError:', e)
