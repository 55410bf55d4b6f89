import os

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from PIL import Image

fig, ax = plt.subplots(figsize=(3, 2))
x = np.linspace(0, 2 * np.pi, 50)
(line,) = ax.plot(x, np.sin(x))


def update(frame: int):
    line.set_ydata(np.sin(x + frame / 5))
    return (line,)


animation = FuncAnimation(fig, update, frames=8, interval=100, blit=True)
animation.save('wave.gif', writer=PillowWriter(fps=10))
with Image.open('wave.gif') as gif:
    print(gif.format, gif.size, gif.n_frames, gif.info['duration'], gif.info.get('loop'))
for target, writer in [('wave.mp4', 'ffmpeg'), ('wave.html', 'html')]:
    try:
        animation.save(target, writer=writer, fps=10)
        print(target, os.path.exists(target))
    except Exception as e:
        print(target, type(e).__name__, e)
print('<img' in animation.to_jshtml(fps=5), animation.to_jshtml().count('data:image/png'))
try:
    animation.to_html5_video()
except Exception as e:
    print(type(e).__name__, e)
unused = FuncAnimation(fig, update, frames=2)
