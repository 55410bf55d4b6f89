import numpy as np
from scipy import signal
from scipy.interpolate import (
    CubicSpline,
    PchipInterpolator,
    RegularGridInterpolator,
    UnivariateSpline,
    griddata,
    interp1d,
)

fs = 500
t = np.arange(0, 2, 1 / fs)
rng = np.random.default_rng(0)
noisy = np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 120 * t) + rng.normal(0, 0.1, t.size)
b, a = signal.butter(4, 30, fs=fs)
print(b.round(8), a.round(6))
clean = signal.filtfilt(b, a, noisy)
print('rms error', round(float(np.sqrt(np.mean((clean - np.sin(2 * np.pi * 5 * t)) ** 2))), 4))
peaks, props = signal.find_peaks(clean, height=0.5, distance=50)
print(len(peaks), t[peaks][:4], props['peak_heights'][:3].round(4))
f, pxx = signal.welch(noisy, fs, nperseg=256)
print(f[np.argsort(pxx)[-3:]].round(3), pxx.shape)
sos = signal.cheby1(3, 1, [10, 40], 'bandpass', fs=fs, output='sos')
print(sos.shape, signal.sosfilt(sos, noisy)[:3].round(6))
print(
    signal.savgol_filter(noisy, 11, 3)[:3].round(5),
    signal.medfilt([1, 9, 2, 3], 3),
    signal.detrend([1, 2, 3.5]).round(6),
)
_, _, spec = signal.spectrogram(noisy, fs, nperseg=128)
print(spec.shape, signal.resample(noisy, 50).shape, signal.decimate(noisy, 5).shape, signal.get_window('hann', 4))
print(
    signal.convolve([1, 2, 3], [0, 1]),
    np.abs(signal.hilbert(np.cos(t)))[500].round(3),
    signal.square(np.array([0.5, 4])),
    signal.chirp(0.1, 1, 1, 5).round(6),
)
x = np.array([0, 1, 2, 3, 4])
y = x**2
print(
    CubicSpline(x, y)(2.5),
    PchipInterpolator(x, y)(2.5).round(6),
    interp1d(x, y, kind='quadratic')(1.5).round(6),
    UnivariateSpline(x, y, s=0).integral(0, 4).round(5),
)
print(
    griddata([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 1, 1, 2], [[0.5, 0.25]], method='linear').round(6),
    RegularGridInterpolator((x, x), np.add.outer(x, y))([[1.5, 2]]),
)
try:
    signal.butter(4, 300, fs=fs)
except ValueError as e:
    print('ValueError:', e)
try:
    signal.filtfilt(b, a, [1, 2, 3])
except ValueError as e:
    print('ValueError:', e)
interp1d(x, y)(9)
