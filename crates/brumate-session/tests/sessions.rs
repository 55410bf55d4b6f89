//! Sessions over the fake engine: one program, so that it is linked once.

mod sessions {
    mod cells;
    mod files;
    mod life;
    mod limits;
    mod support;
}
