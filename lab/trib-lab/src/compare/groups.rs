//! Groups the rows that belong in one table.

use super::row::Row;

/// Groups rows that were measured on the same MPI, ranks and directory, in the order in which they came; each group has
/// the table's title.
pub fn groups(rows: &[Row]) -> Vec<(String, Vec<&Row>)> {
    let mut groups: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let ranks = row.key.ranks;
        let slow = row.key.slow_file.as_ref().map_or(String::new(), |slow| format!(", {slow}"));
        let title = format!("{}, {ranks} ranks, {} ({}{slow})", row.key.mpi, row.key.directory, row.file_system);
        match groups.iter_mut().find(|(other, _)| *other == title) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((title, vec![row])),
        }
    }
    groups
}
