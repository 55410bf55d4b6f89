//! Products of a matrix and a vector: `y ← y + α op(A) x`, also with one half of a symmetric matrix.
//!
//! Vectors that do not lie in one piece are copied, and so are those that the guest has over each other or over the matrix: numbers are
//! wrong then, and nothing else is.

use pulp::bytemuck::{try_cast_slice, try_cast_slice_mut};

use super::lanes::{Add, How, Matrix, Real};
use super::{Arguments, Refused, extent};
use brumate_abi::memory::GuestMemory;

/// Elements of a vector at most, so that a call ends soon, and copies are small. With longer ones the guest does as well, since it waits for memory.
pub(super) const MAX_VECTOR: u32 = 1 << 20;

/// The kernels `brumate_?gemv`.
///
/// # Errors
/// When the matrix or a vector is not wholly inside memory, a vector is too long, or a column runs into the next.
pub(super) fn product<T: Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    let Arguments { memory, words } = Arguments::read(memory, block)?;
    let [transposed, m, n, alpha, a, stride, x, x_step, y, y_step] = words;
    let (how, inputs, outputs) = match transposed {
        0 => (How::Plain, n, m),
        1 => (How::Transposed, m, n),
        _ => return Err(Refused),
    };
    run::<T>(memory, how, (m, n), alpha, (a, stride), (x, inputs, x_step), (y, outputs, y_step))
}

/// The kernels `brumate_?symv`.
///
/// # Errors
/// As [`product`].
pub(super) fn symmetric_product<T: Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    let Arguments { memory, words } = Arguments::read(memory, block)?;
    let [lower, n, alpha, a, stride, x, x_step, y, y_step] = words;
    let how = if lower == 0 { How::Upper } else { How::Lower };
    run::<T>(memory, how, (n, n), alpha, (a, stride), (x, n, x_step), (y, n, y_step))
}

/// Where a vector begins, how many elements it has, and how far apart they are.
type Vector = (u32, u32, u32);

fn run<T: Real>(
    mut memory: GuestMemory<'_>,
    how: How,
    (rows, columns): (u32, u32),
    alpha: u32,
    (a, stride): (u32, u32),
    x: Vector,
    y: Vector,
) -> Result<(), Refused> {
    let size = size_of::<T>();
    if stride < rows || rows == 0 || columns == 0 || rows.max(columns) > MAX_VECTOR {
        return Err(Refused);
    }
    let alpha: T = gather(&memory, (alpha, 1, 1))?[0];
    let whole = (a, extent(rows, columns, stride, size)?);
    let sizes = (rows, columns, stride);
    let in_one_piece = |(address, count, step)| {
        if step == 1 { extent(count, 1, count, size).map(|length| (address, length)) } else { Err(Refused) }
    };
    if let (Ok(x), Ok(y)) = (in_one_piece(x), in_one_piece(y))
        && let Ok([a, x, y]) = memory.disjoint_mut([whole, x, y])
    {
        Add { how, matrix: Matrix::new(numbers(a)?, sizes, alpha), x: numbers(x)?, y: numbers_mut(y)? }.run();
        return Ok(());
    }
    let elements = numbers(memory.slice(whole.0, whole.1)?)?;
    let inputs: Vec<T> = gather(&memory, x)?;
    let mut sums: Vec<T> = gather(&memory, y)?;
    Add { how, matrix: Matrix::new(elements, sizes, alpha), x: &inputs, y: &mut sums }.run();
    let (address, count, step) = y;
    let target = numbers_mut(memory.slice_mut(address, extent(1, count, step, size)?)?)?;
    target.iter_mut().step_by(step as usize).zip(sums).for_each(|(place, sum)| *place = sum);
    Ok(())
}

/// The numbers that `bytes` are.
///
/// # Errors
/// When they are not aligned.
fn numbers<T: Real>(bytes: &[u8]) -> Result<&[T], Refused> {
    try_cast_slice(bytes).map_err(|_| Refused)
}

/// As above, to be written to.
///
/// # Errors
/// As above.
pub(super) fn numbers_mut<T: Real>(bytes: &mut [u8]) -> Result<&mut [T], Refused> {
    try_cast_slice_mut(bytes).map_err(|_| Refused)
}

/// The elements of a vector.
fn gather<T: Real>(memory: &GuestMemory<'_>, (address, count, step): Vector) -> Result<Vec<T>, Refused> {
    if step == 0 {
        return Err(Refused);
    }
    let elements = numbers(memory.slice(address, extent(1, count, step, size_of::<T>())?)?)?;
    Ok(if step == 1 { elements.to_vec() } else { elements.iter().copied().step_by(step as usize).collect() })
}
