from pathlib import Path

from PIL import Image, ImageColor, ImageDraw, ImageFilter, ImageFont, ImageOps

img = Image.new('RGB', (300, 120), '#336699')
draw = ImageDraw.Draw(img)
draw.rounded_rectangle((10, 10, 290, 110), radius=15, fill='white', outline=(255, 0, 0), width=3)
draw.ellipse([20, 30, 80, 90], fill=ImageColor.getrgb('gold'))
draw.polygon([(100, 90), (130, 30), (160, 90)], fill='green')
draw.line([(170, 30), (280, 90), (280, 30)], fill='black', width=4, joint='curve')
draw.arc((180, 40, 240, 100), 0, 270, fill='purple')
font = ImageFont.load_default(size=20)
print(draw.textbbox((100, 5), 'Hello', font=font), round(draw.textlength('Hello', font=font), 3), type(font).__name__)
draw.text((150, 60), 'Hello', font=font, fill='navy', anchor='mm')
img.save('badge.png')
img.save('badge.jpg', quality=90)
img.save('badge.webp', lossless=True)
img.convert('P', palette=Image.Palette.ADAPTIVE, colors=16).save('badge.gif')
for p in sorted(Path().glob('badge.*')):
    with Image.open(p) as im:
        print(p.name, im.format, im.size, im.mode)
print(img.getpixel((50, 60)), img.getpixel((130, 80)), img.getpixel((0, 0)), len(img.getcolors(100000)))
small = img.resize((30, 12), Image.Resampling.LANCZOS)
print(
    small.getpixel((5, 6)),
    img.crop((40, 40, 60, 60)).size,
    img.rotate(90, expand=True).size,
    ImageOps.mirror(img).getpixel((250, 60)),
)
print(
    img.filter(ImageFilter.GaussianBlur(3)).getpixel((50, 60)), ImageOps.grayscale(img).histogram()[255], img.getbbox()
)
thumb = img.copy()
thumb.thumbnail((100, 100))
print(thumb.size, Image.blend(img, Image.new('RGB', img.size), 0.5).getpixel((50, 60)))
try:
    ImageFont.truetype('arial.ttf', 12)
except OSError as e:
    print('OSError:', e)
try:
    img.save('badge.xyz')
except ValueError as e:
    print('ValueError:', e)
Path('fake.png').write_text('not an image')
Image.open('fake.png')
