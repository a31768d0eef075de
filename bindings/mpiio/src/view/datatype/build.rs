//! Computes a datatype's shape (its bytes in typemap order) from the datatype's constructor (MPI 4.1, section 5.1),
//! with one `match` arm for each constructor.

use std::collections::HashMap;

use tributary::Error;

use crate::mpi::abi::MPI_Datatype;
use crate::mpi::abi::types::{BlockList, Combiner, Contents, Measures, measures, name, short_int};
use crate::view::datatype::shape::{Shape, ShapeCopies};
use crate::view::datatype::{FlatType, array};

/// Returns the bytes of one element of a datatype in typemap order, and true if the datatype is predefined.
pub fn flat(datatype: MPI_Datatype) -> Result<(FlatType, bool), Error> {
    let all = measures(datatype)?;
    let Measures { size, extent, .. } = all;
    let contents = Contents::from_datatype(datatype)?;
    let is_predefined = contents.combiner.is_predefined();
    let shape = made(datatype, &all, contents)?;
    if shape.extents().bytes() != size {
        let given = format!("{} bytes by its constructors, {size} by MPI", shape.extents().bytes());
        return Err(Error::argument("datatype", given, "the same"));
    }
    Ok((FlatType { shape, extent, size }, is_predefined))
}

/// A datatype that is an argument of a constructor: its bytes and its extent.
struct TypeArgument {
    shape: Shape,
    extent: i64,
}

fn part(datatype: MPI_Datatype) -> Result<TypeArgument, Error> {
    let all = measures(datatype)?;
    Ok(TypeArgument { shape: made(datatype, &all, Contents::from_datatype(datatype)?)?, extent: all.extent })
}

fn made(datatype: MPI_Datatype, all: &Measures, mut contents: Contents) -> Result<Shape, Error> {
    if all.size == 0 {
        // MPI returns arbitrary bounds for a datatype without data, which must not be used.
        return Ok(Shape::default());
    }
    let of = &mut contents;
    match of.combiner {
        Combiner::Named | Combiner::F90 => predefined(datatype, all),
        Combiner::Dup | Combiner::Resized => Ok(part(of.datatype()?)?.shape),
        Combiner::Contiguous => {
            let TypeArgument { shape, extent } = part(of.datatype()?)?;
            shape.repeat(extent, natural(of.count()?)?)
        }
        Combiner::Vector | Combiner::Hvector => {
            let TypeArgument { shape, extent } = part(of.datatype()?)?;
            let (count, block) = (natural(of.count()?)?, natural(of.count()?)?);
            let stride = match of.combiner {
                Combiner::Vector => times(of.count()?, extent)?,
                _ => of.address()?,
            };
            shape.repeat(extent, block)?.repeat(stride, count)
        }
        Combiner::Indexed | Combiner::Hindexed | Combiner::IndexedBlock | Combiner::HindexedBlock => blocks(of),
        Combiner::Struct => structure(of),
        Combiner::Subarray => {
            let TypeArgument { shape, extent } = part(of.datatype()?)?;
            array::subarray(&shape, extent, of)
        }
        Combiner::Darray => {
            let TypeArgument { shape, extent } = part(of.datatype()?)?;
            array::darray(&shape, extent, of)
        }
    }
}

/// Returns the shape of a predefined datatype: one run of bytes, except for MPI_SHORT_INT, which has a gap. Padding
/// at the end is not data.
fn predefined(datatype: MPI_Datatype, of: &Measures) -> Result<Shape, Error> {
    if let Some([first, second]) = short_int(datatype) {
        let [value, index] = [Shape::contiguous(0, first)?, Shape::contiguous(second as i64, of.size - first)?];
        let one = |shape| ShapeCopies { shape, stride: 0, count: 1, displacement: 0 };
        return Shape::concat([one(&value), one(&index)].into_iter());
    }
    if i64::try_from(of.size) != Ok(of.true_extent) {
        let given = format!("{}, {} bytes in {}", name(datatype), of.size, of.true_extent);
        return Err(Error::argument("datatype", given, "predefined types without holes, and MPI_SHORT_INT"));
    }
    Shape::contiguous(of.true_lower_bound, of.size)
}

fn blocks(of: &mut Contents) -> Result<Shape, Error> {
    let TypeArgument { shape, extent } = part(of.datatype()?)?;
    let count = of.count()?;
    if of.combiner == Combiner::Hindexed
        && let Some(unit) = shape.tile(extent)
        && let Some(list) = of.blocks_in_bytes(count)
    {
        return list_of_runs(unit, list);
    }
    let lengths = match of.combiner {
        Combiner::Indexed | Combiner::Hindexed => naturals(of.list(count, Contents::count)?)?,
        _ => vec![natural(of.count()?)?; natural(count)? as usize],
    };
    let displacements = match of.combiner {
        Combiner::Indexed | Combiner::IndexedBlock => {
            let places = of.list(count, Contents::count)?.into_iter();
            places.map(|place| times(place, extent)).collect::<Result<_, _>>()?
        }
        _ => of.list(count, Contents::address)?,
    };
    shape.blocks(extent, displacements.iter().copied().zip(lengths.iter().copied()))
}

/// Returns the shape of blocks of bytes at given displacements. Libraries describe irregular data in this way, with
/// millions of blocks.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast)] // the types of MPI libraries differ
fn list_of_runs(unit: i64, list: BlockList<'_>) -> Result<Shape, Error> {
    match list {
        BlockList::Large(lengths, displacements) => {
            Shape::runs(unit, displacements.iter().zip(lengths).map(|(&at, &len)| (i64::from(at), i64::from(len))))
        }
        BlockList::Small(lengths, displacements) => {
            Shape::runs(unit, displacements.iter().zip(lengths).map(|(&at, &len)| (at as i64, i64::from(len))))
        }
    }
}

/// Returns the shape of MPI_Type_create_struct. Each datatype is flattened once, even if it is a member more than
/// once.
fn structure(of: &mut Contents) -> Result<Shape, Error> {
    let count = of.count()?;
    let lengths = naturals(of.list(count, Contents::count)?)?;
    let displacements = of.list(count, Contents::address)?;
    let (mut parts, mut known, mut members) = (Vec::new(), HashMap::new(), Vec::with_capacity(lengths.len()));
    for datatype in of.datatypes() {
        let next = parts.len();
        let member = *known.entry(datatype).or_insert(next);
        if member == next {
            parts.push(part(datatype)?);
        }
        members.push(member);
    }
    let blocks = members.iter().zip(lengths).zip(displacements).map(|((&member, count), displacement)| {
        let TypeArgument { shape, extent } = &parts[member];
        ShapeCopies { shape, stride: *extent, count, displacement }
    });
    Shape::concat(blocks)
}

fn naturals(counts: Vec<i64>) -> Result<Vec<u64>, Error> {
    counts.into_iter().map(natural).collect()
}

/// Converts a count in a datatype; the error says that it is negative.
pub fn natural(count: i64) -> Result<u64, Error> {
    u64::try_from(count).map_err(|_| Error::argument("count in a datatype", count, "0 or more"))
}

/// Returns `count` times `bytes`; the error says that the product is 2^63 or more.
pub fn times(count: i64, bytes: i64) -> Result<i64, Error> {
    let too_far = || Error::argument("datatype", format!("{count} times {bytes} bytes"), "less than 2^63");
    count.checked_mul(bytes).ok_or_else(too_far)
}
