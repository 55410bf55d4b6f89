//! Triangular matrices: computes `B ← α op(A) B`, or replaces B by the solution X of `op(A) X = α B`. A can also be on
//! the right side.
//!
//! All cases use the algorithm for a lower triangle on the left side. If a matrix is transposed, its strides are
//! exchanged. A large triangle is divided into two smaller triangles and a rectangle beside them. The rectangle is
//! applied as a product of matrices. Small triangles are applied to some columns of B at a time (see `leaf`).

#![expect(unsafe_code, reason = "reads and writes checked parts of the guest's memory by pointer")]

use super::lanes::Real;
use super::leaf::{self, LEAF};
use super::matrix::{Element, MAX_SIDE, Stored, number};
use super::{Arguments, Refused};
use brumate_abi::memory::GuestMemory;

/// A triangular matrix. Only its triangle is read.
pub(super) struct Triangle<T> {
    pub first: *const T,
    /// Elements between rows, and between columns.
    pub strides: (isize, isize),
    /// Whether this is the lower half. Then the order of elimination goes from the first row to the last. For the upper
    /// half it goes from the last row to the first.
    pub lower: bool,
    /// Whether all diagonal elements are one. The diagonal is then not read.
    pub unit: bool,
    pub side: usize,
}

/// The matrix that a triangle is applied to.
pub(super) struct Rows<T> {
    pub first: *mut T,
    /// Elements between rows, and between columns.
    pub strides: (isize, isize),
    pub columns: usize,
}

/// Whether products or solutions are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Multiply,
    Solve,
}

/// The kernels `brumate_?trmm`.
///
/// # Errors
/// If a matrix is too large or empty, not aligned, not completely inside memory, or its columns overlap. Also if α is
/// zero, or a flag is neither 0 nor 1.
pub(super) fn product<T: Element + Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    run::<T>(memory, block, Work::Multiply)
}

/// The kernels `brumate_?trsm`.
///
/// # Errors
/// As [`product`].
pub(super) fn solution<T: Element + Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    run::<T>(memory, block, Work::Solve)
}

fn run<T: Element + Real>(memory: GuestMemory<'_>, block: u32, work: Work) -> Result<(), Refused> {
    let Arguments { mut memory, words } = Arguments::read(memory, block)?;
    let [right, lower, transposed, unit, m, n, alpha, a, a_stride, b, b_stride] = words;
    let (side, columns) = if right == 0 { (m, n) } else { (n, m) };
    if m.max(n) > MAX_SIDE || right.max(lower).max(transposed).max(unit) > 1 || side == 0 || columns == 0 {
        return Err(Refused);
    }
    Stored { address: a, rows: side, columns: side, stride: a_stride }.check::<T>(&memory)?;
    Stored { address: b, rows: m, columns: n, stride: b_stride }.check::<T>(&memory)?;
    let alpha: T = number(&memory, alpha)?;
    if alpha == T::ZERO {
        // If α is zero, A must not be read. The guest does this case.
        return Err(Refused);
    }
    // X op(A) is (op(A)ᵀ Xᵀ)ᵀ.
    let turned = transposed != right;
    let strides = |turned: bool, stride: u32| if turned { (stride as isize, 1) } else { (1, stride as isize) };
    let base = memory.base();
    let triangle = Triangle {
        first: base.wrapping_add(a as usize).cast_const().cast(),
        strides: strides(turned, a_stride),
        lower: (lower == 1) != turned,
        unit: unit == 1,
        side: side as usize,
    };
    let rows = Rows {
        first: base.wrapping_add(b as usize).cast(),
        strides: strides(right == 1, b_stride),
        columns: columns as usize,
    };
    // SAFETY: `check` has made sure that both matrices are inside the memory and aligned (the memory begins at a page).
    // It has also made sure that their columns do not overlap. `memory` is borrowed mutably, and all access goes
    // through pointers. If the guest has placed one matrix over the other, the numbers are wrong, but nothing else is
    // affected.
    unsafe {
        if alpha != T::ONE {
            scale(&rows, triangle.side, alpha);
        }
        apply(&triangle, &rows, work);
    }
    Ok(())
}

/// # Safety
/// All elements of the first `count` rows can be read and written, properly aligned.
unsafe fn scale<T: Real>(rows: &Rows<T>, count: usize, factor: T) {
    for column in 0..rows.columns {
        for row in 0..count {
            // SAFETY: by this function's contract.
            unsafe {
                let place = rows.first.offset(row as isize * rows.strides.0 + column as isize * rows.strides.1);
                *place = factor * *place;
            }
        }
    }
}

/// Applies the triangle to `rows`, which has the same number of rows.
///
/// # Safety
/// All elements of the triangle's matrix can be read. All elements of the rows can be read and written, and no two of
/// them overlap. All elements are properly aligned.
pub(super) unsafe fn apply<T: Element + Real>(triangle: &Triangle<T>, rows: &Rows<T>, work: Work) {
    // SAFETY: by this function's contract. The parts of the triangle and of the rows are inside the whole ones.
    unsafe {
        let side = triangle.side;
        if side <= LEAF {
            return leaf::apply(triangle, rows, work);
        }
        let half = (side / 2).next_multiple_of(LEAF);
        let (earlier, later) = if triangle.lower { ((0, half), (half, side)) } else { ((half, side), (0, half)) };
        let (stride_i, stride_j) = triangle.strides;
        let part = |(from, to): (usize, usize)| Triangle {
            first: triangle.first.offset(from as isize * (stride_i + stride_j)),
            side: to - from,
            ..*triangle
        };
        let some =
            |(from, _): (usize, usize)| Rows { first: rows.first.offset(from as isize * rows.strides.0), ..*rows };
        let beside = || {
            let corner = triangle.first.offset(later.0 as isize * stride_i + earlier.0 as isize * stride_j);
            let factor = if work == Work::Solve { -T::ONE } else { T::ONE };
            let (source, target) = (some(earlier), some(later));
            let (stride_row, stride_column) = rows.strides;
            let (count, inner) = (later.1 - later.0, earlier.1 - earlier.0);
            let a = (corner, stride_i, stride_j);
            let b = (source.first.cast_const(), stride_row, stride_column);
            let c = (target.first, stride_row, stride_column);
            if stride_row == 1 {
                T::multiply([count, rows.columns, inner], [factor, T::ONE], a, b, c);
            } else {
                // Computes the same product transposed, so that the columns of C are contiguous.
                let turn = |(first, row, column)| (first, column, row);
                T::multiply([rows.columns, count, inner], [factor, T::ONE], turn(b), turn(a), (c.0, c.2, c.1));
            }
        };
        match work {
            Work::Solve => {
                apply(&part(earlier), &some(earlier), work);
                beside();
                apply(&part(later), &some(later), work);
            }
            Work::Multiply => {
                apply(&part(later), &some(later), work);
                beside();
                apply(&part(earlier), &some(earlier), work);
            }
        }
    }
}

impl<T: Copy> Triangle<T> {
    /// Returns the row at position `index` in the order of elimination.
    #[inline(always)]
    fn place(&self, index: usize) -> isize {
        (if self.lower { index } else { self.side - 1 - index }) as isize
    }

    /// Returns an element. `row` and `column` are positions in the order of elimination.
    ///
    /// # Safety
    /// The element can be read and is aligned.
    pub(super) unsafe fn get(&self, row: usize, column: usize) -> T {
        let offset = self.place(row) * self.strides.0 + self.place(column) * self.strides.1;
        // SAFETY: by this function's contract.
        unsafe { *self.first.offset(offset) }
    }
}

impl<T: Copy> Rows<T> {
    /// Copies `count` columns, from `first` on, to `turned`. With `back`, copies them from `turned` instead. In
    /// `turned`, the rows are in the order of elimination and have `width` elements each.
    ///
    /// # Safety
    /// The `count` columns from `first` on have as many rows as the triangle. Their elements can be read and written,
    /// and are aligned.
    #[inline(always)]
    pub(super) unsafe fn copy(
        &self,
        triangle: &Triangle<T>,
        first: usize,
        count: usize,
        turned: &mut [T],
        width: usize,
        back: bool,
    ) {
        let (stride_row, stride_column) = self.strides;
        let step = if triangle.lower { stride_row } else { -stride_row };
        // SAFETY: by this function's contract. The assertion makes sure that `turned` is long enough.
        unsafe {
            assert!(count <= width && turned.len() >= triangle.side * width);
            let inside = turned.as_mut_ptr();
            let outside = self.first.offset(triangle.place(0) * stride_row + first as isize * stride_column);
            if stride_column == 1 {
                for row in 0..triangle.side {
                    let (inside, outside) = (inside.add(row * width), outside.offset(row as isize * step));
                    if back { outside.copy_from(inside, count) } else { inside.copy_from(outside, count) }
                }
                return;
            }
            for column in 0..count {
                let (mut inside, mut outside) = (inside.add(column), outside.offset(column as isize * stride_column));
                for _ in 0..triangle.side {
                    if back {
                        *outside = *inside
                    } else {
                        *inside = *outside
                    }
                    (inside, outside) = (inside.wrapping_add(width), outside.wrapping_offset(step));
                }
            }
        }
    }
}
