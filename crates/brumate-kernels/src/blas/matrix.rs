//! Products of matrices: `C ← α op(A) op(B) + β C`, by `matrixmultiply`, which has kernels for the processor at hand.

#![expect(unsafe_code, reason = "reads and writes checked parts of the guest's memory by pointer")]

use super::{Arguments, Refused, extent};
use brumate_abi::memory::GuestMemory;

/// Rows and columns of a matrix of one call at most. The guest cuts larger ones, so that it can be interrupted, and copies are small.
pub(super) const MAX_SIDE: u32 = 512;

/// A complex number of single precision, its real part first.
pub(super) type Complex32 = [f32; 2];
/// A complex number of double precision, its real part first.
pub(super) type Complex64 = [f64; 2];

/// A matrix for `matrixmultiply`: its first element, the strides of its rows and columns in elements.
type Operand<P> = (P, isize, isize);

/// What matrices consist of.
pub(super) trait Element: Copy + PartialEq {
    const ZERO: Self;

    /// From as many little-endian bytes as it has.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The complex conjugate.
    fn conjugate(self) -> Self;

    /// `C ← α A B + β C`; the sizes are those of C, and the columns of A.
    ///
    /// # Safety
    /// All elements of A and B can be read and those of C read and written, properly aligned; those of C are distinct.
    unsafe fn multiply(
        sizes: [usize; 3],
        factors: [Self; 2],
        a: Operand<*const Self>,
        b: Operand<*const Self>,
        c: Operand<*mut Self>,
    );
}

macro_rules! element {
    ($type:ty, $zero:expr, |$bytes:ident| $read:expr, |$value:ident| $conjugate:expr, $multiply:path $(, $option:path)?) => {
        impl Element for $type {
            const ZERO: Self = $zero;

            fn read($bytes: &[u8]) -> Option<Self> {
                $read
            }

            fn conjugate(self) -> Self {
                let $value = self;
                $conjugate
            }

            unsafe fn multiply(
                [m, n, k]: [usize; 3],
                [alpha, beta]: [Self; 2],
                a: Operand<*const Self>,
                b: Operand<*const Self>,
                c: Operand<*mut Self>,
            ) {
                // SAFETY: the caller's contract is the function's.
                unsafe { $multiply($($option, $option,)? m, k, n, alpha, a.0, a.1, a.2, b.0, b.1, b.2, beta, c.0, c.1, c.2) }
            }
        }
    };
}

use matrixmultiply::CGemmOption::Standard;

element!(f32, 0.0, |bytes| Some(f32::from_le_bytes(bytes.try_into().ok()?)), |value| value, matrixmultiply::sgemm);
element!(f64, 0.0, |bytes| Some(f64::from_le_bytes(bytes.try_into().ok()?)), |value| value, matrixmultiply::dgemm);
element!(Complex32, [0.0; 2], |bytes| pair(bytes), |value| [value[0], -value[1]], matrixmultiply::cgemm, Standard);
element!(Complex64, [0.0; 2], |bytes| pair(bytes), |value| [value[0], -value[1]], matrixmultiply::zgemm, Standard);

fn pair<T: Element>(bytes: &[u8]) -> Option<[T; 2]> {
    let (real, imaginary) = bytes.split_at_checked(size_of::<T>())?;
    Some([T::read(real)?, T::read(imaginary)?])
}

/// A matrix as the guest has it.
pub(super) struct Stored {
    pub address: u32,
    pub rows: u32,
    pub columns: u32,
    pub stride: u32,
}

impl Stored {
    /// Checks where it lies.
    ///
    /// # Errors
    /// When it is not aligned, not wholly inside memory, or a column runs into the next.
    pub(super) fn check<T>(&self, memory: &GuestMemory<'_>) -> Result<(), Refused> {
        let aligned = (self.address as usize).is_multiple_of(align_of::<T>());
        let apart = self.stride >= self.rows;
        memory.slice(self.address, extent(self.rows, self.columns, self.stride, size_of::<T>())?)?;
        if aligned && apart { Ok(()) } else { Err(Refused) }
    }

    /// Its conjugate, by column.
    fn conjugate<T: Element>(&self, memory: &GuestMemory<'_>) -> Result<Vec<T>, Refused> {
        let size = size_of::<T>();
        let bytes = memory.slice(self.address, extent(self.rows, self.columns, self.stride, size)?)?;
        let columns = bytes.chunks(self.stride as usize * size).take(self.columns as usize);
        let elements = columns.flat_map(|column| column.chunks_exact(size).take(self.rows as usize));
        elements.map(|bytes| T::read(bytes).map(T::conjugate).ok_or(Refused)).collect()
    }
}

/// The number at an address, wherever it lies.
pub(super) fn number<T: Element>(memory: &GuestMemory<'_>, address: u32) -> Result<T, Refused> {
    T::read(memory.slice(address, size_of::<T>() as u32)?).ok_or(Refused)
}

/// Bits of how a matrix is taken: transposed, conjugate.
const TRANSPOSED: u32 = 1;
const CONJUGATE: u32 = 2;

/// The kernels `brumate_?gemm`.
///
/// # Errors
/// When a matrix is too large, not aligned, not wholly inside memory, or one of its columns runs into the next.
pub(super) fn product<T: Element>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    let Arguments { mut memory, words } = Arguments::read(memory, block)?;
    let [how_a, how_b, m, n, k, alpha, a, a_stride, b, b_stride, beta, c, c_stride] = words;
    if m.max(n).max(k) > MAX_SIDE || how_a.max(how_b) > TRANSPOSED | CONJUGATE {
        return Err(Refused);
    }
    let stored = |how: u32, address, rows, columns, stride| {
        let (rows, columns) = if how & TRANSPOSED == 0 { (rows, columns) } else { (columns, rows) };
        Stored { address, rows, columns, stride }
    };
    let (a, b) = (stored(how_a, a, m, k, a_stride), stored(how_b, b, k, n, b_stride));
    let c = stored(0, c, m, n, c_stride);
    for matrix in [&a, &b, &c] {
        matrix.check::<T>(&memory)?;
    }
    let factors = [number(&memory, alpha)?, number(&memory, beta)?];
    if factors[0] == T::ZERO || m == 0 || n == 0 || k == 0 {
        // By definition A and B are not looked at then.
        return Err(Refused);
    }
    let conjugated =
        |how: u32, matrix: &Stored| (how & CONJUGATE != 0).then(|| matrix.conjugate::<T>(&memory)).transpose();
    let (own_a, own_b) = (conjugated(how_a, &a)?, conjugated(how_b, &b)?);
    let base = memory.base();
    let operand = |how: u32, matrix: &Stored, own: &Option<Vec<T>>| -> Operand<*const T> {
        let (first, stride) = match own {
            Some(elements) => (elements.as_ptr(), matrix.rows as isize),
            // The address was checked against the memory.
            None => (base.wrapping_add(matrix.address as usize).cast_const().cast(), matrix.stride as isize),
        };
        if how & TRANSPOSED == 0 { (first, 1, stride) } else { (first, stride, 1) }
    };
    let target: Operand<*mut T> = (base.wrapping_add(c.address as usize).cast(), 1, c.stride as isize);
    // SAFETY: `check` has found each matrix inside of the memory, aligned (the memory begins at a page) and its columns apart; copies
    // have as many elements as their sizes say. `memory` is borrowed mutably, and all access goes through pointers: where
    // the guest has put C over A or B, numbers are wrong and nothing else is.
    unsafe {
        T::multiply(
            [m, n, k].map(|side| side as usize),
            factors,
            operand(how_a, &a, &own_a),
            operand(how_b, &b, &own_b),
            target,
        );
    }
    Ok(())
}
