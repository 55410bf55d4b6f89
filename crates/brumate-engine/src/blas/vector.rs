//! Products of a matrix and a vector: `y ← y + α op(A) x`, also with one half of a symmetric matrix.
//!
//! Elements are read as bytes, so that nothing need be aligned; compilers make loads of vectors of that.
#![allow(unsafe_code)]

use super::{Arguments, Refused, extent};
use crate::libc::mem::GuestMemory;

/// Columns that are gone through at a time: y is read and written once for all of them.
const COLUMNS: usize = 4;

/// Elements of a vector at most: they are copied. With longer ones the guest does as well, since it waits for memory.
pub(super) const MAX_VECTOR: u32 = 1 << 20;

/// Partial sums of a dot product: enough for four vectors of 256 bits.
const LANES: usize = 16;

/// A real number.
pub(super) trait Real: Copy + Default + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
    /// Its bytes, the lowest first.
    type Bytes: Copy;

    /// The numbers in `bytes`, as bytes.
    fn numbers(bytes: &[u8]) -> &[Self::Bytes];

    /// As above, to be written to.
    fn numbers_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];

    fn load(bytes: Self::Bytes) -> Self;

    fn store(self) -> Self::Bytes;

    /// `self × factor + term`, rounded once.
    fn fused(self, factor: Self, term: Self) -> Self;
}

macro_rules! real {
    ($type:ty) => {
        impl Real for $type {
            type Bytes = [u8; size_of::<$type>()];

            #[inline(always)]
            fn numbers(bytes: &[u8]) -> &[Self::Bytes] {
                bytes.as_chunks().0
            }

            #[inline(always)]
            fn numbers_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
                bytes.as_chunks_mut().0
            }

            #[inline(always)]
            fn load(bytes: Self::Bytes) -> Self {
                <$type>::from_le_bytes(bytes)
            }

            #[inline(always)]
            fn store(self) -> Self::Bytes {
                self.to_le_bytes()
            }

            #[inline(always)]
            fn fused(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }
        }
    };
}

real!(f32);
real!(f64);

/// What is done with the matrix.
#[derive(Debug, Clone, Copy)]
enum How {
    /// `A x`
    Plain,
    /// `Aᵀ x`
    Transposed,
    /// `A x`, of whose symmetric A only the lower half is looked at.
    Lower,
    /// `A x`, of whose symmetric A only the upper half is looked at.
    Upper,
}

/// A matrix by column.
#[derive(Clone, Copy)]
struct Matrix<'a, B> {
    elements: &'a [B],
    rows: usize,
    columns: usize,
    stride: usize,
}

impl<'a, B> Matrix<'a, B> {
    #[inline(always)]
    fn column(&self, number: usize) -> &'a [B] {
        &self.elements[number * self.stride..][..self.rows]
    }
}

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
    if stride < rows || rows == 0 || columns == 0 {
        return Err(Refused);
    }
    let alpha = T::numbers(memory.slice(alpha, size as u32)?).first().map(|&bytes| T::load(bytes)).ok_or(Refused)?;
    let elements = T::numbers(memory.slice(a, extent(rows, columns, stride, size)?)?);
    let matrix = Matrix { elements, rows: rows as usize, columns: columns as usize, stride: stride as usize };
    let scaled: Vec<T> = gather(&memory, x)?.into_iter().map(|x: T| alpha * x).collect();
    let mut sums: Vec<T> = gather(&memory, y)?;
    add(how, matrix, &scaled, &mut sums);
    let (address, count, step) = y;
    let target = memory.slice_mut(address, extent(1, count, step, size)?)?;
    let places = T::numbers_mut(target).iter_mut().step_by(step as usize);
    places.zip(sums).for_each(|(place, sum)| *place = sum.store());
    Ok(())
}

/// The elements of a vector.
fn gather<T: Real>(memory: &GuestMemory<'_>, (address, count, step): Vector) -> Result<Vec<T>, Refused> {
    if step == 0 || count > MAX_VECTOR {
        return Err(Refused);
    }
    let bytes = memory.slice(address, extent(1, count, step, size_of::<T>())?)?;
    Ok(T::numbers(bytes).iter().step_by(step as usize).map(|&bytes| T::load(bytes)).collect())
}

/// Adds the product with `x` to `y`, with the best instructions there are. In the loops below there are no closures: one that is not inlined
/// is compiled for any processor, where a fused multiplication is a call of the C library.
fn add<T: Real>(how: How, matrix: Matrix<'_, T::Bytes>, x: &[T], y: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both.
        unsafe { add_fused(how, matrix, x, y) };
        return;
    }
    add_with::<T, false>(how, matrix, x, y);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_fused<T: Real>(how: How, matrix: Matrix<'_, T::Bytes>, x: &[T], y: &mut [T]) {
    add_with::<T, true>(how, matrix, x, y);
}

#[inline(always)]
fn add_with<T: Real, const FUSED: bool>(how: How, matrix: Matrix<'_, T::Bytes>, x: &[T], y: &mut [T]) {
    let all = 0..matrix.rows;
    match how {
        How::Plain => add_columns_of::<T, FUSED>(&matrix, 0..matrix.columns, all, x, y),
        How::Transposed => {
            for column in 0..matrix.columns {
                add_dot::<T, FUSED>(&matrix, column, all.clone(), x, y);
            }
        }
        How::Lower | How::Upper => {
            let lower = matches!(how, How::Lower);
            for first in (0..matrix.columns).step_by(COLUMNS) {
                let end = matrix.columns.min(first + COLUMNS);
                add_diagonal(&matrix, lower, first..end, x, y);
                // What is beside the diagonal block stands for itself and for its mirror image.
                let rest = if lower { end..matrix.rows } else { 0..first };
                add_columns_of::<T, FUSED>(&matrix, first..end, rest.clone(), x, y);
                for column in first..end {
                    add_dot::<T, FUSED>(&matrix, column, rest.clone(), x, y);
                }
            }
        }
    }
}

/// `y[rows] += A[rows, columns] × x[columns]`
#[inline(always)]
fn add_columns_of<T: Real, const FUSED: bool>(
    matrix: &Matrix<'_, T::Bytes>,
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let whole = columns.start + columns.len() / COLUMNS * COLUMNS;
    for first in (columns.start..whole).step_by(COLUMNS) {
        add_columns::<T, COLUMNS, FUSED>(matrix, first, rows.clone(), x, y);
    }
    for last in whole..columns.end {
        add_columns::<T, 1, FUSED>(matrix, last, rows.clone(), x, y);
    }
}

#[inline(always)]
fn multiply_add<T: Real, const FUSED: bool>(a: T, b: T, c: T) -> T {
    if FUSED { a.fused(b, c) } else { a * b + c }
}

/// `y[rows] += A[rows, first..first + N] × x[first..first + N]`
#[inline(always)]
fn add_columns<T: Real, const N: usize, const FUSED: bool>(
    matrix: &Matrix<'_, T::Bytes>,
    first: usize,
    rows: std::ops::Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let y = &mut y[rows.clone()];
    let columns: [_; N] = std::array::from_fn(|number| &matrix.column(first + number)[rows.clone()][..y.len()]);
    let factors: [T; N] = std::array::from_fn(|number| x[first + number]);
    for row in 0..y.len() {
        let mut sum = y[row];
        for number in 0..N {
            sum = multiply_add::<T, FUSED>(T::load(columns[number][row]), factors[number], sum);
        }
        y[row] = sum;
    }
}

/// `y[column] += A[rows, column] · x[rows]`
#[inline(always)]
fn add_dot<T: Real, const FUSED: bool>(
    matrix: &Matrix<'_, T::Bytes>,
    column: usize,
    rows: std::ops::Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    let (x_lanes, x_rest) = x[rows.clone()].as_chunks::<LANES>();
    let (lanes, rest) = matrix.column(column)[rows].as_chunks::<LANES>();
    let mut sums = [T::default(); LANES];
    for (a, x) in lanes.iter().zip(x_lanes) {
        for lane in 0..LANES {
            sums[lane] = multiply_add::<T, FUSED>(T::load(a[lane]), x[lane], sums[lane]);
        }
    }
    let mut sum = y[column] + total(sums);
    for (&a, &x) in rest.iter().zip(x_rest) {
        sum = multiply_add::<T, FUSED>(T::load(a), x, sum);
    }
    y[column] = sum;
}

/// The sum of partial sums, by halves: fewer of its additions wait for each other.
#[inline(always)]
fn total<T: Real>(mut sums: [T; LANES]) -> T {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] = sums[lane] + sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The rows and columns `block` of a symmetric matrix.
#[inline(always)]
fn add_diagonal<T: Real>(
    matrix: &Matrix<'_, T::Bytes>,
    lower: bool,
    block: std::ops::Range<usize>,
    x: &[T],
    y: &mut [T],
) {
    for column in block.clone() {
        for row in block.clone() {
            let (of_row, of_column) = if (row >= column) == lower { (row, column) } else { (column, row) };
            y[row] = y[row] + T::load(matrix.column(of_column)[of_row]) * x[column];
        }
    }
}
