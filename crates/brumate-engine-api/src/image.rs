//! Images: interpreters with modules imported already, from which machines are forked.

use crate::Layer;

/// Interpreter that a machine is forked from: what is imported in it already. Which one is taken changes how long imports
/// take, nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Image {
    modules: Vec<String>,
    layers: Vec<Layer>,
}

impl Image {
    /// Modules of [`Image::data`].
    pub const DATA: [&str; 3] = ["numpy", "pandas", "matplotlib"];

    /// Makes an image with nothing beyond what every interpreter has.
    pub fn plain() -> Image {
        Image::default()
    }

    /// Modules of [`Image::notebook`].
    pub const NOTEBOOK: [&str; 4] = ["numpy", "pandas", "matplotlib", "IPython"];

    /// Makes the image with numpy, pandas and matplotlib, used once.
    pub fn data() -> Image {
        Image::of(Self::DATA)
    }

    /// Makes [`Image::data`] with IPython's shell made and used: what cells with [`ExecuteMode::NotebookCell`](crate::ExecuteMode::NotebookCell) run in.
    pub fn notebook() -> Image {
        Image::of(Self::NOTEBOOK)
    }

    /// Modules of [`Image::server`].
    pub const SERVER: [&str; 1] = ["mcp.server.fastmcp"];

    /// Makes the image with the server half of `mcp` imported: what MCP servers in Python run in.
    pub fn server() -> Image {
        Image::of(Self::SERVER)
    }

    /// Makes an image with these modules, imported in that order.
    pub fn of<T: Into<String>>(modules: impl IntoIterator<Item = T>) -> Image {
        Image { modules: modules.into_iter().map(Into::into).collect(), layers: Vec::new() }
    }

    /// Adds wheels that are mounted before its modules are imported: machines of it have them, and the modules may be theirs.
    pub fn with_layers(mut self, layers: Vec<Layer>) -> Image {
        self.layers = layers;
        self
    }

    /// Lists the wheels that are mounted in it.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Lists the modules that are imported in it.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }
}

/// `plain`, `data`, `notebook`, or the modules with commas between; and how many wheels are mounted in it.
impl std::fmt::Display for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.modules[..] {
            [] => f.write_str("plain")?,
            modules if modules == Self::DATA => f.write_str("data")?,
            modules if modules == Self::NOTEBOOK => f.write_str("notebook")?,
            modules => f.write_str(&modules.join(","))?,
        }
        match self.layers.len() {
            0 => Ok(()),
            count => write!(f, " with {count} wheels"),
        }
    }
}
