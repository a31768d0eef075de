//! Reduces a group to a power of two of members, for algorithms that need one: in some pairs, one member acts for both.

use crate::collectives::Group;

/// Fold of p members to q = 2^floor(log2 p) members, the cores. The p - q extras are the odd members of the first p - q
/// pairs.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    size: usize,
    cores: usize,
}

impl Fold {
    /// Returns the fold of a group of `size` members.
    pub fn new(size: usize) -> Self {
        Self { size, cores: 1 << size.ilog2() }
    }

    /// Returns the group of the cores; `None` if this rank is an extra.
    pub fn cores(self, group: &Group) -> Option<Group> {
        let (me, extras) = (group.me(), self.extras());
        let core = match me < 2 * extras {
            true if me % 2 == 1 => return None,
            true => me / 2,
            false => me - extras,
        };
        Some(group.part(self.cores, core, move |core| if core < extras { 2 * core } else { core + extras }))
    }

    /// Returns the partner of member `me` in its pair; `None` if the member is in no pair.
    pub fn partner(self, me: usize) -> Option<usize> {
        (me < 2 * self.extras()).then_some(me ^ 1)
    }

    fn extras(self) -> usize {
        self.size - self.cores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_a_core_or_has_a_core_as_partner() {
        for size in 1..70 {
            let fold = Fold::new(size);
            let mut cores = Vec::new();
            for me in 0..size {
                match fold.cores(&Group::world(me, size)) {
                    Some(group) => {
                        assert_eq!(group.rank_of(group.me()), me);
                        cores.push(group.me());
                    }
                    None => assert!(fold.cores(&Group::world(fold.partner(me).unwrap(), size)).is_some()),
                }
            }
            assert!(cores.len().is_power_of_two() && cores.len() * 2 > size);
            assert!(cores.iter().copied().eq(0..cores.len()));
        }
    }
}
