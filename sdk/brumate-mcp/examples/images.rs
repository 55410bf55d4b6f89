//! Pictures, recordings and files as results, alone and mixed.

use brumate_mcp::{Audio, Content, File, Image, ServeError, Server, tool};

/// A picture of one colour: 8×8, portable pixmap.
#[tool]
async fn swatch(red: u8, green: u8, blue: u8) -> Image {
    let mut picture = b"P6 8 8 255\n".to_vec();
    picture.extend([red, green, blue].repeat(64));
    Image::new(picture, "x-portable-pixmap")
}

/// A tone of 440 Hz.
#[tool]
fn tone(#[arg(default = 100)] milliseconds: u32) -> Audio {
    const RATE: u32 = 8000;
    let samples = RATE * milliseconds.min(10_000) / 1000;
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((36 + samples).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend(16u32.to_le_bytes());
    wav.extend([1, 0, 1, 0]);
    wav.extend(RATE.to_le_bytes());
    wav.extend(RATE.to_le_bytes());
    wav.extend([1, 0, 8, 0]);
    wav.extend(b"data");
    wav.extend(samples.to_le_bytes());
    wav.extend((0..samples).map(|n| if (n * 2 * 440 / RATE).is_multiple_of(2) { 96 } else { 160 }));
    Audio::new(wav, "wav")
}

/// A caption and a picture.
#[tool]
async fn captioned(caption: String) -> (String, Image) {
    (caption, Image::new(b"P6 1 1 255\n\0\0\0".to_vec(), "x-portable-pixmap"))
}

/// A table, and where more of it is.
#[tool]
async fn table(rows: u32) -> Vec<Content> {
    let lines: String = (0..rows.min(1000)).map(|row| format!("{row},{}\n", row * row)).collect();
    vec![
        Content::text(format!("{rows} rows")),
        File::new("squares.csv", lines).into(),
        Content::link("squares://all", "All squares"),
    ]
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Server::new("Images").tool(swatch).tool(tone).tool(captioned).tool(table).run_stdio().await
}
