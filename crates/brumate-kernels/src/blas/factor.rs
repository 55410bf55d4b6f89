//! LU factorisation with partial pivoting, in place: by halves of the columns, so that most of it is products of matrices.

#![expect(unsafe_code, reason = "reads and writes checked parts of the guest's memory by pointer")]

use std::ops::Range;

use super::lanes::{Add, How, Matrix, Real};
use super::matrix::{Element, MAX_SIDE};
use super::triangle::{self, Rows, Triangle, Work};
use super::vector::{MAX_VECTOR, numbers_mut};
use super::{Arguments, Refused, extent};
use brumate_abi::memory::GuestMemory;

/// Multiplications of one call at most; the guest takes larger matrices apart.
const MAX_WORK: u64 = (MAX_SIDE as u64).pow(3);
/// Columns that are worked on one by one.
const PANEL: usize = 16;

/// The kernels `brumate_?getrf`, which write the matrix, one pivot for each step, counted from 1, and the first step whose pivot is zero, or 0.
///
/// # Errors
/// When the work is too much, the matrix is not aligned or not wholly inside memory, or one of its columns runs into the next.
pub(super) fn triangles<T: Element + Real>(memory: GuestMemory<'_>, block: u32) -> Result<(), Refused> {
    let Arguments { mut memory, words } = Arguments::read(memory, block)?;
    let [m, n, a, stride, pivots, info] = words;
    let steps = m.min(n);
    let work = u64::from(m).saturating_mul(u64::from(n)).saturating_mul(u64::from(steps));
    if steps == 0 || stride < m || m.max(n) > MAX_VECTOR || work > MAX_WORK {
        return Err(Refused);
    }
    let word = size_of::<u32>();
    memory.slice(pivots, extent(steps, 1, steps, word)?)?;
    memory.slice(info, word as u32)?;
    let elements: &mut [T] = numbers_mut(memory.slice_mut(a, extent(m, n, stride, size_of::<T>())?)?)?;
    let (steps, columns) = (steps as usize, n as usize);
    let mut lu = Lu { elements, rows: m as usize, stride: stride as usize, pivots: vec![0; steps], zero: 0 };
    lu.factor(0..steps);
    if columns > steps {
        lu.swap(steps..columns, 0..steps);
        lu.eliminate(0..steps, steps..columns);
    }
    let Lu { pivots: rows, zero, .. } = lu;
    let numbers: Vec<u8> = rows.iter().flat_map(|row| (*row as u32 + 1).to_le_bytes()).collect();
    memory.write(pivots, &numbers)?;
    memory.write(info, &(zero as u32).to_le_bytes())?;
    Ok(())
}

struct Lu<'a, T> {
    elements: &'a mut [T],
    rows: usize,
    stride: usize,
    /// The rows that were swapped with those of the steps.
    pivots: Vec<usize>,
    /// The first step whose pivot is zero, from 1.
    zero: usize,
}

impl<T: Element + Real> Lu<'_, T> {
    /// Factorises columns, in the rows from that of the first one's number on.
    fn factor(&mut self, columns: Range<usize>) {
        let count = columns.len();
        if count <= PANEL {
            return self.panel(columns);
        }
        let middle = columns.start + (count / 2).next_multiple_of(PANEL);
        let (left, right) = (columns.start..middle, middle..columns.end);
        self.factor(left.clone());
        self.swap(right.clone(), left.clone());
        self.eliminate(left.clone(), right.clone());
        self.factor(right.clone());
        self.swap(left, right);
    }

    /// Swaps rows of columns as some steps did.
    fn swap(&mut self, columns: Range<usize>, steps: Range<usize>) {
        for column in columns {
            let column = &mut self.elements[column * self.stride..][..self.rows];
            for step in steps.clone() {
                column.swap(step, self.pivots[step]);
            }
        }
    }

    /// Takes from columns what the steps, which they come behind, have of them.
    fn eliminate(&mut self, steps: Range<usize>, columns: Range<usize>) {
        let (stride, below) = (self.stride, self.rows - steps.end);
        // The last column may end with its last row.
        assert!(columns.start >= steps.end && (columns.end - 1) * stride + self.rows <= self.elements.len());
        let base = self.elements.as_mut_ptr();
        let at = |row: usize, column: usize| base.wrapping_add(column * stride + row);
        let triangle = Triangle {
            first: at(steps.start, steps.start).cast_const(),
            strides: (1, stride as isize),
            lower: true,
            unit: true,
            side: steps.len(),
        };
        let rows =
            Rows { first: at(steps.start, columns.start), strides: (1, stride as isize), columns: columns.len() };
        let by_column = stride as isize;
        // SAFETY: rows up to `self.rows` of columns up to `columns.end` are elements of the slice, as is asserted above; the columns of the
        // steps are read, others are written, and of these different rows in the product.
        unsafe {
            triangle::apply(&triangle, &rows, Work::Solve);
            if below > 0 {
                T::multiply(
                    [below, columns.len(), steps.len()],
                    [-T::ONE, T::ONE],
                    (at(steps.end, steps.start).cast_const(), 1, by_column),
                    (rows.first.cast_const(), 1, by_column),
                    (at(steps.end, columns.start), 1, by_column),
                );
            }
        }
    }

    /// One column after the other: what the ones before take from it, its largest number to the diagonal, and the others divided by that.
    fn panel(&mut self, columns: Range<usize>) {
        let first = columns.start;
        for step in columns.clone() {
            self.swap(step..step + 1, first..step);
            let (before, column) = self.elements.split_at_mut(step * self.stride);
            let column = &mut column[..self.rows];
            let before = &before[first * self.stride..];
            for earlier in first..step {
                let factor = -column[earlier];
                let own = &before[(earlier - first) * self.stride..];
                for row in earlier + 1..step {
                    column[row] += factor * own[row];
                }
            }
            if step > first {
                let (above, below) = column.split_at_mut(step);
                let (rows, columns) = (below.len(), step - first);
                let matrix = Matrix { elements: &before[step..], rows, columns, stride: self.stride, alpha: -T::ONE };
                Add { how: How::Plain, matrix, x: &above[first..], y: below }.run();
            }
            let pivot = step + largest(&column[step..]);
            self.pivots[step] = pivot;
            column.swap(step, pivot);
            let value = column[step];
            if value != T::default() {
                divide(&mut column[step + 1..], value);
            } else if self.zero == 0 {
                self.zero = step + 1;
            }
            self.swap(first..step, step..step + 1);
        }
    }
}

/// How far a number is from zero.
fn from_zero<T: Real>(number: T) -> T {
    if number < T::default() { -number } else { number }
}

/// The place of the number that is the farthest from zero, of several the first. One that is none is passed over, but at the first place.
fn largest<T: Real>(numbers: &[T]) -> usize {
    let (mut place, mut size) = (0, None);
    for (index, &number) in numbers.iter().enumerate() {
        let distance = from_zero(number);
        if size.is_none_or(|size| distance > size) {
            (place, size) = (index, Some(distance));
        }
    }
    place
}

/// Divides all by one number.
fn divide<T: Real>(numbers: &mut [T], by: T) {
    if from_zero(by) >= T::SAFE {
        let reciprocal = T::ONE / by;
        numbers.iter_mut().for_each(|number| *number = *number * reciprocal);
    } else {
        numbers.iter_mut().for_each(|number| *number = *number / by);
    }
}
