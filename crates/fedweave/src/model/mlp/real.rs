//! The two kinds of numbers a network computes with: f32 for training, where it is twice as fast and exact enough, f64
//! for gradients and predictions.

use std::ops::{AddAssign, Mul, MulAssign, Sub};

use faer::traits::RealField;

/// f32 or f64.
pub trait Real:
    RealField + Copy + PartialOrd + AddAssign + MulAssign + Mul<Output = Self> + Sub<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The nearest number.
    fn narrow(value: f64) -> Self;
    /// The same number.
    fn widen(self) -> f64;
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    fn narrow(value: f64) -> f32 {
        value as f32
    }

    fn widen(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    fn narrow(value: f64) -> f64 {
        value
    }

    fn widen(self) -> f64 {
        self
    }
}
