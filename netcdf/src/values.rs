//! Holds values of attributes: a list of one external type, or text.

use crate::format::Type;

/// The values of an attribute: their type, and their bytes as they lie in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    kind: Type,
    bytes: Vec<u8>,
}

impl Values {
    /// Creates values from bytes in the file's form: big-endian, one after the other.
    pub(crate) fn external(kind: Type, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }

    /// Returns the type of the values in the file.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Returns the number of values; for text, the number of bytes.
    pub fn count(&self) -> u64 {
        self.bytes.len() as u64 / self.kind.size()
    }

    /// Returns the bytes of the values, big-endian, without padding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<&str> for Values {
    fn from(text: &str) -> Self {
        Self::external(Type::Char, text.as_bytes().to_vec())
    }
}

/// Converts a list, an array or a single value of a native type to the external type of the same width.
macro_rules! values_from {
    ($($native:ty => $kind:ident),*) => {$(
        impl From<&[$native]> for Values {
            fn from(values: &[$native]) -> Self {
                Self::external(Type::$kind, values.iter().flat_map(|value| value.to_be_bytes()).collect())
            }
        }
        impl<const N: usize> From<[$native; N]> for Values {
            fn from(values: [$native; N]) -> Self {
                Self::from(&values[..])
            }
        }
        impl From<$native> for Values {
            fn from(value: $native) -> Self {
                Self::from([value])
            }
        }
    )*};
}

values_from!(
    i8 => Byte, i16 => Short, i32 => Int, f32 => Float, f64 => Double,
    u8 => UByte, u16 => UShort, u32 => UInt, i64 => Int64, u64 => UInt64
);
