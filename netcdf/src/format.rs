//! Defines the three classic formats and their external types, with the numbers in which they differ.
//!
//! Source: "The NetCDF Classic Format Specification" (Unidata, NetCDF Users Guide, file format specifications) and the
//! CDF-5 specification of PnetCDF.

use tributary::{Error, Result};

/// A classic NetCDF format. The formats differ in the width of counts and offsets, and CDF-5 has more types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// 32-bit counts and offsets: every variable begins below 2 GiB.
    Cdf1,
    /// 32-bit counts and 64-bit offsets: files may be larger than 2 GiB.
    Cdf2,
    /// 64-bit counts and offsets, unsigned and 64-bit integers.
    Cdf5,
}

impl Format {
    /// Returns the version: the byte after the letters `CDF` in the file.
    pub fn version(self) -> u8 {
        match self {
            Self::Cdf1 => 1,
            Self::Cdf2 => 2,
            Self::Cdf5 => 5,
        }
    }

    /// Returns the format of a version (the byte after the letters `CDF`); None if there is no such format.
    pub(crate) fn from_version(version: u8) -> Option<Self> {
        [Self::Cdf1, Self::Cdf2, Self::Cdf5].into_iter().find(|format| format.version() == version)
    }

    /// Returns true if the format has a type.
    pub fn has(self, kind: Type) -> bool {
        self == Self::Cdf5 || kind.code() <= Type::Double.code()
    }

    /// Returns the number of bytes of a count in the header.
    pub(crate) fn count_width(self) -> usize {
        if self == Self::Cdf5 { 8 } else { 4 }
    }

    /// Returns the number of bytes of an offset in the header.
    pub(crate) fn offset_width(self) -> usize {
        if self == Self::Cdf1 { 4 } else { 8 }
    }

    /// Returns the maximum of a count, also of the number of records.
    pub(crate) fn largest_count(self) -> u64 {
        if self == Self::Cdf5 { i64::MAX as u64 } else { i32::MAX as u64 }
    }

    /// Returns the maximum length of a dimension: a count that can still be rounded up to 4.
    pub(crate) fn longest_dimension(self) -> u64 {
        self.largest_count() - 3
    }

    /// Returns the maximum number of bytes of a variable (of one record, for record variables) that is not the last
    /// of its kind.
    pub(crate) fn largest_variable(self) -> u64 {
        match self {
            Self::Cdf1 => i32::MAX as u64 - 3,
            Self::Cdf2 => u32::MAX as u64 - 3,
            Self::Cdf5 => i64::MAX as u64 - 3,
        }
    }

    /// Returns the maximum offset at which a variable may begin.
    pub(crate) fn last_begin(self) -> u64 {
        if self == Self::Cdf1 { i32::MAX as u64 } else { i64::MAX as u64 }
    }

    /// Checks that the format has a type. `what` names the item in the error.
    pub(crate) fn check(self, kind: Type, what: &str) -> Result<()> {
        if self.has(kind) {
            return Ok(());
        }
        Err(Error::argument(
            format!("type of {what}"),
            kind,
            format!("byte, char, short, int, float, double in {self}"),
        ))
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CDF-{}", self.version())
    }
}

/// An external type: the form of a value in the file, always big-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// 8-bit signed integer.
    Byte,
    /// 8-bit characters of text.
    Char,
    /// 16-bit signed integer.
    Short,
    /// 32-bit signed integer.
    Int,
    /// IEEE 754 single precision.
    Float,
    /// IEEE 754 double precision.
    Double,
    /// 8-bit unsigned integer (CDF-5).
    UByte,
    /// 16-bit unsigned integer (CDF-5).
    UShort,
    /// 32-bit unsigned integer (CDF-5).
    UInt,
    /// 64-bit signed integer (CDF-5).
    Int64,
    /// 64-bit unsigned integer (CDF-5).
    UInt64,
}

impl Type {
    /// All types, by their number in the file.
    pub const ALL: [Self; 11] = [
        Self::Byte,
        Self::Char,
        Self::Short,
        Self::Int,
        Self::Float,
        Self::Double,
        Self::UByte,
        Self::UShort,
        Self::UInt,
        Self::Int64,
        Self::UInt64,
    ];

    /// Returns the type's number in the file, 1 to 11.
    pub fn code(self) -> u32 {
        self as u32 + 1
    }

    /// Returns the type with this number in the file, 1 to 11.
    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Returns the number of bytes of a value.
    pub fn size(self) -> u64 {
        match self {
            Self::Byte | Self::Char | Self::UByte => 1,
            Self::Short | Self::UShort => 2,
            Self::Int | Self::Float | Self::UInt => 4,
            Self::Double | Self::Int64 | Self::UInt64 => 8,
        }
    }

    /// Returns NetCDF's default fill value for unwritten elements: big-endian, [`Type::size`] bytes.
    pub fn default_fill(self) -> Vec<u8> {
        const FLOATS: f64 = 9.969_209_968_386_869e36;
        match self {
            Self::Byte => (-127i8).to_be_bytes().to_vec(),
            Self::Char => vec![0],
            Self::Short => (-32_767i16).to_be_bytes().to_vec(),
            Self::Int => (-2_147_483_647i32).to_be_bytes().to_vec(),
            Self::Float => (FLOATS as f32).to_be_bytes().to_vec(),
            Self::Double => FLOATS.to_be_bytes().to_vec(),
            Self::UByte => vec![u8::MAX],
            Self::UShort => u16::MAX.to_be_bytes().to_vec(),
            Self::UInt => u32::MAX.to_be_bytes().to_vec(),
            Self::Int64 => (-9_223_372_036_854_775_806i64).to_be_bytes().to_vec(),
            Self::UInt64 => 18_446_744_073_709_551_614u64.to_be_bytes().to_vec(),
        }
    }
}

impl std::fmt::Display for Type {
    /// Returns the name in CDL, the text form of NetCDF.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Byte => "byte",
            Self::Char => "char",
            Self::Short => "short",
            Self::Int => "int",
            Self::Float => "float",
            Self::Double => "double",
            Self::UByte => "ubyte",
            Self::UShort => "ushort",
            Self::UInt => "uint",
            Self::Int64 => "int64",
            Self::UInt64 => "uint64",
        })
    }
}
