//! Images for models: checked, and scaled down to the size that models use.

use std::io::Cursor;

use image::imageops::FilterType;
use image::{ImageFormat, ImageReader, Limits};

/// Longest edge of an image, in pixels. Models scale larger images down themselves.
const MAX_EDGE: u32 = 1568;
/// Largest image, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// Longest edge of an image that is decoded, in pixels.
const MAX_DECODED_EDGE: u32 = 16_384;
/// Most memory for decoding one image, in bytes.
const MAX_DECODING_BYTES: u64 = 256 << 20;
/// Most attempts to get below [`MAX_BYTES`]. Each halves the edges.
const ATTEMPTS: u32 = 4;

/// Returns the image and its media type, scaled down if necessary. Returns `None` if the bytes are no image, or the image cannot be
/// made small enough.
pub(crate) fn fit(bytes: Vec<u8>) -> Option<(Vec<u8>, &'static str)> {
    match image::guess_format(&bytes).ok()? {
        ImageFormat::Png => {}
        // There is no encoder for these formats, so they are not scaled.
        ImageFormat::Jpeg if bytes.len() <= MAX_BYTES => return Some((bytes, "image/jpeg")),
        ImageFormat::Gif if bytes.len() <= MAX_BYTES => return Some((bytes, "image/gif")),
        ImageFormat::WebP if bytes.len() <= MAX_BYTES => return Some((bytes, "image/webp")),
        _ => return None,
    }
    let (width, height) = decoder(&bytes).into_dimensions().ok()?;
    if width.max(height) <= MAX_EDGE && bytes.len() <= MAX_BYTES {
        return Some((bytes, "image/png"));
    }
    let picture = decoder(&bytes).decode().ok()?;
    let mut edge = MAX_EDGE.min(width.max(height));
    for _ in 0..ATTEMPTS {
        let mut smaller = Cursor::new(Vec::new());
        picture.resize(edge, edge, FilterType::Triangle).write_to(&mut smaller, ImageFormat::Png).ok()?;
        let smaller = smaller.into_inner();
        if smaller.len() <= MAX_BYTES {
            return Some((smaller, "image/png"));
        }
        edge = (edge / 2).max(1);
    }
    None
}

/// Returns a decoder with limits. Guest code made the bytes, so the header may claim any size.
fn decoder(bytes: &[u8]) -> ImageReader<Cursor<&[u8]>> {
    let mut decoder = ImageReader::with_format(Cursor::new(bytes), ImageFormat::Png);
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_EDGE);
    limits.max_image_height = Some(MAX_DECODED_EDGE);
    limits.max_alloc = Some(MAX_DECODING_BYTES);
    decoder.limits(limits);
    decoder
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, RgbImage};

    use super::*;

    fn png(width: u32, height: u32, noise: bool) -> Vec<u8> {
        let mut state = 1_u32;
        let picture = RgbImage::from_fn(width, height, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            image::Rgb(if noise { [(state >> 24) as u8, (state >> 16) as u8, (state >> 8) as u8] } else { [1, 2, 3] })
        });
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(picture).write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    fn size(bytes: &[u8]) -> (u32, u32) {
        decoder(bytes).into_dimensions().unwrap()
    }

    #[test]
    fn small_ones_stay_as_they_are_and_large_ones_shrink() {
        let small = png(640, 480, false);
        assert_eq!(fit(small.clone()), Some((small, "image/png")));
        let (wide, mime) = fit(png(3136, 1000, false)).unwrap();
        assert_eq!((size(&wide), mime), ((1568, 500), "image/png"));
        let heavy = png(1200, 1200, true);
        assert!(heavy.len() > MAX_BYTES);
        let (light, _) = fit(heavy).unwrap();
        assert!(light.len() <= MAX_BYTES);
    }

    #[test]
    fn what_is_no_picture_is_not_shown() {
        let mut bomb = png(8, 8, false);
        // Width and height in the header, whose checksum does not hold then either.
        bomb[16..24].copy_from_slice(&[0x7f; 8]);
        for bytes in
            [b"hello".to_vec(), Vec::new(), b"\x89PNG\r\n\x1a\n".to_vec(), bomb, png(9, 9, true)[..60].to_vec()]
        {
            // A header that is whole may pass; a picture that must be decoded is decoded.
            if let Some((fitting, _)) = fit(bytes) {
                assert_eq!(size(&fitting), (9, 9));
            }
        }
        assert_eq!(fit(b"\xff\xd8\xff\xe0".to_vec()).unwrap().1, "image/jpeg");
    }
}
