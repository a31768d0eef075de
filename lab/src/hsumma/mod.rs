//! SUMMA and hierarchical SUMMA: the product of two matrices on a grid of ranks, with broadcasts on one level or on
//! two.
//!
//! Hasanov, thesis, chapter 4, Algorithm 6. C = A B, all n x n, in a checkerboard of blocks on a grid of s x t ranks. A
//! pivot column of A goes along the rows of the grid, a pivot row of B along its columns, and every rank adds the
//! product of the two to its block of C. SUMMA does so b columns at a time. HSUMMA divides the grid into I x J groups:
//! M columns at a time go to the ranks at the same place in all groups, and from there, b at a time, along the rows and
//! columns of each group. With p = s t ranks and G = I J groups in squares, a step of SUMMA broadcasts among sqrt(p)
//! ranks, one of HSUMMA among sqrt(G) and sqrt(p/G). One group, and as many as ranks, are SUMMA.
//!
//! | module | holds |
//! |---|---|
//! | [`shape`] | grid, groups and blocks, and the holders of pivots |
//! | [`program`] | the program of every rank |
//! | [`matrix`] | the matrices, and the serial product that the result is compared with |

pub mod matrix;
pub mod program;
pub mod shape;

pub use program::{ProductOutcome, multiply};
pub use shape::Shape;
