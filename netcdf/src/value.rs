//! Converts numbers of a program to the form in the file: the variable's type, big-endian.

use crate::format::{Format, Type};

mod sealed {
    pub trait Sealed {}
}

/// A native number that can be put into a variable of any numeric type.
///
/// NetCDF's rules hold: integers must be in the range of the variable's type; floating-point numbers lose their
/// fraction in an integer variable and must be within its range before they do; doubles must be within the range of a
/// float. Numbers cannot be put into text (NC_ECHAR), and in CDF-1 and CDF-2 the bits of a `u8` are put into a `byte`
/// unchanged. NaN can be put into floating-point variables only.
pub trait Value: Copy + sealed::Sealed {
    /// Appends `values` to `out`, converted to the type `kind`. O(values); allocates only for `out`.
    ///
    /// # Errors
    /// The index of the first value that `kind` cannot hold. Some of the values may be in `out` in this case.
    fn encode(values: &[Self], kind: Type, format: Format, out: &mut Vec<u8>) -> Result<(), usize>;
}

/// Appends the bytes that `convert` returns for each value.
fn each<V: Copy, const N: usize>(
    values: &[V],
    out: &mut Vec<u8>,
    convert: impl Fn(V) -> Option<[u8; N]>,
) -> Result<(), usize> {
    out.reserve(values.len() * N);
    for (at, &value) in values.iter().enumerate() {
        out.extend_from_slice(&convert(value).ok_or(at)?);
    }
    Ok(())
}

macro_rules! integers {
    ($($native:ty),*) => {$(
        impl sealed::Sealed for $native {}
        impl Value for $native {
            fn encode(values: &[Self], kind: Type, format: Format, out: &mut Vec<u8>) -> Result<(), usize> {
                // In CDF-1 and CDF-2, whose only 8-bit integer is `byte`, a `u8` is stored bit by bit.
                let raw_byte = <$native>::BITS == 8 && <$native>::MIN == 0 && format != Format::Cdf5;
                match kind {
                    Type::Byte if raw_byte => each(values, out, |v| Some([v as u8])),
                    Type::Byte => each(values, out, |v| i8::try_from(v).ok().map(i8::to_be_bytes)),
                    Type::Char => if values.is_empty() { Ok(()) } else { Err(0) },
                    Type::Short => each(values, out, |v| i16::try_from(v).ok().map(i16::to_be_bytes)),
                    Type::Int => each(values, out, |v| i32::try_from(v).ok().map(i32::to_be_bytes)),
                    Type::Float => each(values, out, |v| Some((v as f32).to_be_bytes())),
                    Type::Double => each(values, out, |v| Some((v as f64).to_be_bytes())),
                    Type::UByte => each(values, out, |v| u8::try_from(v).ok().map(u8::to_be_bytes)),
                    Type::UShort => each(values, out, |v| u16::try_from(v).ok().map(u16::to_be_bytes)),
                    Type::UInt => each(values, out, |v| u32::try_from(v).ok().map(u32::to_be_bytes)),
                    Type::Int64 => each(values, out, |v| i64::try_from(v).ok().map(i64::to_be_bytes)),
                    Type::UInt64 => each(values, out, |v| u64::try_from(v).ok().map(u64::to_be_bytes)),
                }
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

/// Makes a conversion to an integer type, which cuts off the value's fraction; `None` beyond the type's range. Ranges
/// of 64 bits end at a power of two, which is itself outside.
macro_rules! to_integer {
    ($value:expr, $integer:ty) => {{
        let (least, most) = (<$integer>::MIN as f64, <$integer>::MAX as f64);
        let inside = $value >= least && if <$integer>::BITS == 64 { $value < most } else { $value <= most };
        inside.then(|| ($value as $integer).to_be_bytes())
    }};
}

impl sealed::Sealed for f64 {}
impl Value for f64 {
    fn encode(values: &[Self], kind: Type, _format: Format, out: &mut Vec<u8>) -> Result<(), usize> {
        match kind {
            Type::Double => each(values, out, |v| Some(v.to_be_bytes())),
            Type::Float => {
                let inside = |v: f64| v.is_nan() || v.abs() <= f64::from(f32::MAX);
                each(values, out, |v| inside(v).then(|| (v as f32).to_be_bytes()))
            }
            Type::Char => {
                if values.is_empty() {
                    Ok(())
                } else {
                    Err(0)
                }
            }
            Type::Byte => each(values, out, |v| to_integer!(v, i8)),
            Type::Short => each(values, out, |v| to_integer!(v, i16)),
            Type::Int => each(values, out, |v| to_integer!(v, i32)),
            Type::UByte => each(values, out, |v| to_integer!(v, u8)),
            Type::UShort => each(values, out, |v| to_integer!(v, u16)),
            Type::UInt => each(values, out, |v| to_integer!(v, u32)),
            Type::Int64 => each(values, out, |v| to_integer!(v, i64)),
            Type::UInt64 => each(values, out, |v| to_integer!(v, u64)),
        }
    }
}

impl sealed::Sealed for f32 {}
impl Value for f32 {
    fn encode(values: &[Self], kind: Type, _format: Format, out: &mut Vec<u8>) -> Result<(), usize> {
        match kind {
            Type::Float => each(values, out, |v| Some(v.to_be_bytes())),
            Type::Double => each(values, out, |v| Some(f64::from(v).to_be_bytes())),
            Type::Char => {
                if values.is_empty() {
                    Ok(())
                } else {
                    Err(0)
                }
            }
            Type::Byte => each(values, out, |v| to_integer!(f64::from(v), i8)),
            Type::Short => each(values, out, |v| to_integer!(f64::from(v), i16)),
            Type::Int => each(values, out, |v| to_integer!(f64::from(v), i32)),
            Type::UByte => each(values, out, |v| to_integer!(f64::from(v), u8)),
            Type::UShort => each(values, out, |v| to_integer!(f64::from(v), u16)),
            Type::UInt => each(values, out, |v| to_integer!(f64::from(v), u32)),
            Type::Int64 => each(values, out, |v| to_integer!(f64::from(v), i64)),
            Type::UInt64 => each(values, out, |v| to_integer!(f64::from(v), u64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put<V: Value>(value: V, kind: Type) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        V::encode(&[value], kind, Format::Cdf5, &mut out).ok().map(|()| out)
    }

    #[test]
    fn ranges_are_those_of_the_type() {
        for (value, fits) in [(-129i64, false), (-128, true), (127, true), (128, false)] {
            assert_eq!(put(value, Type::Byte).is_some(), fits, "{value}");
            assert_eq!(put(value as f64, Type::Byte).is_some(), fits, "{value}");
            assert_eq!(put(value as f32, Type::Byte).is_some(), fits, "{value}");
        }
        assert_eq!(put(127.5f64, Type::Byte), None, "the check is before the fraction is cut off");
        assert_eq!(put(-1.9f64, Type::Int), Some((-1i32).to_be_bytes().to_vec()));
        assert_eq!(put(2f64.powi(63), Type::Int64), None);
        assert_eq!(put(2f64.powi(63), Type::UInt64), Some((1u64 << 63).to_be_bytes().to_vec()));
        assert_eq!(put(2f64.powi(64), Type::UInt64), None);
        assert_eq!(put(-1i8, Type::UInt64), None);
        assert_eq!(put(u64::MAX, Type::Int64), None);
        assert_eq!(put(1e39f64, Type::Float), None);
        assert_eq!(put(f64::INFINITY, Type::Float), None);
        assert!(put(f64::NAN, Type::Float).is_some());
        assert_eq!(put(f64::NAN, Type::Int), None);
        assert_eq!(put(3i32, Type::Char), None, "numbers are no text");
    }

    #[test]
    fn unsigned_bytes_are_raw_where_byte_is_the_only_one() {
        let mut out = Vec::new();
        u8::encode(&[200], Type::Byte, Format::Cdf2, &mut out).unwrap();
        assert_eq!(out, [200]);
        assert_eq!(u8::encode(&[1, 200], Type::Byte, Format::Cdf5, &mut out), Err(1));
        assert_eq!(i16::encode(&[200], Type::Byte, Format::Cdf2, &mut out), Err(0));
    }
}
