//! A list of parts of one variable, which takes only two allocations.

/// Parts of one variable, each as (start, count) along each dimension, in the order of the data that belong to them.
///
/// ```
/// use tributary_netcdf::Requests;
///
/// let mut requests = Requests::default();
/// requests.push(&[0, 4], &[1, 2]);
/// requests.push(&[0, 9], &[1, 1]);
/// assert_eq!(requests.iter().nth(1), Some((&[0, 9][..], &[1, 1][..])));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requests {
    dimensions: usize,
    starts: Vec<u64>,
    counts: Vec<u64>,
    len: usize,
}

impl Requests {
    /// Adds a part. All parts have as many starts and counts as the first part: missing ones are set to 0, and
    /// surplus ones are dropped.
    pub fn push(&mut self, start: &[u64], count: &[u64]) {
        if self.len == 0 {
            self.dimensions = start.len();
        }
        for (list, part) in [(&mut self.starts, start), (&mut self.counts, count)] {
            list.extend(part.iter().copied().chain(std::iter::repeat(0)).take(self.dimensions));
        }
        self.len += 1;
    }

    /// Returns the number of parts in the list.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no parts.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Iterates over the parts, as (start, count).
    pub fn iter(&self) -> impl Iterator<Item = (&[u64], &[u64])> + '_ {
        let n = self.dimensions;
        (0..self.len).map(move |at| (&self.starts[at * n..][..n], &self.counts[at * n..][..n]))
    }
}

impl<S: AsRef<[u64]>, C: AsRef<[u64]>> FromIterator<(S, C)> for Requests {
    fn from_iter<I: IntoIterator<Item = (S, C)>>(parts: I) -> Self {
        let mut all = Self::default();
        parts.into_iter().for_each(|(start, count)| all.push(start.as_ref(), count.as_ref()));
        all
    }
}

impl<S: AsRef<[u64]>, C: AsRef<[u64]>> From<Vec<(S, C)>> for Requests {
    fn from(parts: Vec<(S, C)>) -> Self {
        parts.into_iter().collect()
    }
}
