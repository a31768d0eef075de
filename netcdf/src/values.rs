//! Values of attributes: a list of one external type, or text.

use crate::format::Type;

/// What an attribute holds: its type, and the values as they lie in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    kind: Type,
    bytes: Vec<u8>,
}

impl Values {
    /// Values that are in the external form already: big-endian, one after the other.
    pub(crate) fn external(kind: Type, bytes: Vec<u8>) -> Self {
        Self { kind, bytes }
    }

    /// Returns the external type.
    pub fn kind(&self) -> Type {
        self.kind
    }

    /// Returns the number of values; of text, of bytes.
    pub fn count(&self) -> u64 {
        self.bytes.len() as u64 / self.kind.size()
    }

    /// Returns the values, big-endian, without padding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl From<&str> for Values {
    fn from(text: &str) -> Self {
        Self::external(Type::Char, text.as_bytes().to_vec())
    }
}

/// A list, an array or a single value of each native type becomes the external type of the same width.
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
