//! Prints a NetCDF file as CDL, NetCDF's text form, from its definitions and the bytes of its variables.

use std::fs::File;
use std::os::unix::fs::FileExt;

use tributary_netcdf::{Layout, Schema, Type, UNLIMITED, VariableId};

/// Returns the CDL text of a value of a variable.
fn cdl_value(kind: Type, bytes: &[u8]) -> String {
    let unsigned = bytes.iter().fold(0u64, |value, &byte| value << 8 | u64::from(byte));
    let unused = 64 - 8 * bytes.len() as u32;
    match kind {
        Type::Float => format!("{:.9e}", f32::from_bits(unsigned as u32)),
        Type::Double => format!("{:.17e}", f64::from_bits(unsigned)),
        Type::UByte | Type::UShort | Type::UInt | Type::UInt64 => format!("{unsigned}ull"),
        Type::Byte | Type::Short | Type::Int | Type::Int64 => format!("{}ll", (unsigned << unused) as i64 >> unused),
        Type::Char => panic!("text goes by rows"),
    }
}

/// Returns the CDL text of an attribute's values.
fn cdl_attribute(kind: Type, bytes: &[u8]) -> String {
    let suffix = match kind {
        Type::Char => return cdl_text(bytes),
        Type::Byte => "b",
        Type::Short => "s",
        Type::Float => "f",
        Type::UByte => "ub",
        Type::UShort => "us",
        Type::UInt => "u",
        _ => "",
    };
    let one = |value: &[u8]| {
        let text = cdl_value(kind, value);
        let plain = if matches!(kind, Type::Int64 | Type::UInt64) { &*text } else { text.trim_end_matches(['l', 'u']) };
        format!("{plain}{suffix}")
    };
    bytes.chunks(kind.size() as usize).map(one).collect::<Vec<_>>().join(", ")
}

fn cdl_text(bytes: &[u8]) -> String {
    let letter = |&byte: &u8| match byte {
        b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\{byte:03o}"),
        _ => char::from(byte).to_string(),
    };
    format!("\"{}\"", bytes.iter().map(letter).collect::<String>())
}

/// Returns a whole file as CDL: definitions from the schema, values from `file`.
pub fn cdl(schema: &Schema, layout: &Layout, records: u64, file: &File) -> String {
    let (mut head, mut data) = (String::from("netcdf x {\ndimensions:\n"), String::from("data:\n"));
    for dimension in schema.dimensions() {
        let length = if dimension.length == UNLIMITED { "UNLIMITED".into() } else { dimension.length.to_string() };
        head += &format!("{} = {length};\n", dimension.name);
    }
    head += "variables:\n";
    for (number, variable) in schema.variables().iter().enumerate() {
        let dimensions = variable.dimensions.iter().map(|id| &schema.dimensions()[id.0]);
        let names: Vec<&str> = dimensions.clone().map(|dimension| dimension.name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
        head += &format!("{} {}{names};\n", variable.kind, variable.name);
        for attribute in &variable.attributes {
            let values = cdl_attribute(attribute.values.kind(), attribute.values.bytes());
            head += &format!("{}:{} = {values};\n", variable.name, attribute.name);
        }
        let count: Vec<u64> = dimensions.map(|d| if d.length == UNLIMITED { records } else { d.length }).collect();
        if count.contains(&0) {
            continue;
        }
        let all = layout.extents(VariableId(number), &vec![0; count.len()], &count).unwrap();
        let mut bytes = Vec::new();
        for extent in all.iter() {
            let at = bytes.len();
            bytes.resize(at + extent.len as usize, 0);
            file.read_exact_at(&mut bytes[at..], extent.offset).unwrap();
        }
        let values: Vec<String> = match variable.kind {
            Type::Char => bytes.chunks(count.last().map_or(1, |&n| n as usize)).map(cdl_text).collect(),
            kind => bytes.chunks(kind.size() as usize).map(|value| cdl_value(kind, value)).collect(),
        };
        data += &format!("{} = {};\n", variable.name, values.join(", "));
    }
    for attribute in schema.attributes() {
        head +=
            &format!(":{} = {};\n", attribute.name, cdl_attribute(attribute.values.kind(), attribute.values.bytes()));
    }
    format!("{head}{data}}}\n")
}
