//! A picture made smaller: `thumbnail DIRECTORY` reads pictures (PNG) of that directory.

use brumate_mcp::prelude::*;
use std::io::Cursor;
use std::path::{Component, Path, PathBuf};

/// Makes a thumbnail of a picture.
#[tool(read_only)]
fn create_thumbnail(
    /// Its name in the directory.
    image_path: String,
    directory: State<PathBuf>,
) -> Result<Image, Error> {
    let path = Path::new(&image_path);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(Error::new("`image_path` leaves the directory"));
    }
    let picture = image::open(directory.join(path))?.thumbnail(100, 100);
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, image::ImageFormat::Png)?;
    Ok(Image::new(png.into_inner(), "png"))
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    Server::new("My App").state(directory).tool(create_thumbnail).run_stdio().await
}
