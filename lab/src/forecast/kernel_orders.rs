//! Stores in compressed form the orders in which many owners (receivers or senders) go through the same items (their
//! peers).
//!
//! With a flat kernel every receiver goes through the senders (and every sender through the receivers) by step. In all
//! kernels of the registry these orders are rotations of one order. That is checked for each owner: an order that is
//! not a rotation is kept as a list.

/// Orders in which all owners go through the items.
#[derive(Debug)]
pub(super) struct KernelOrders {
    /// Order of the first owner: the items by step.
    base: Vec<u32>,
    /// Position of each item in `base`.
    place: Vec<u32>,
    of: Vec<Order>,
}

#[derive(Debug)]
enum Order {
    /// The order is `base`, rotated to begin at this position.
    Begun(u32),
    /// The order is another: the items, and the position of each item.
    Listed(Box<(Vec<u32>, Vec<u32>)>),
}

impl KernelOrders {
    /// Returns the orders of `owners` owners over `items` items by ascending `step(owner, item)`. O(owners x items).
    pub(super) fn new(owners: usize, items: usize, step: impl Fn(usize, usize) -> u64) -> Self {
        let sorted = |owner| {
            let mut order: Vec<u32> = (0..items as u32).collect();
            order.sort_by_key(|&item| step(owner, item as usize));
            order
        };
        let base = if owners == 0 { Vec::new() } else { sorted(0) };
        let order = |owner| match rotation(&base, |item| step(owner, item as usize)) {
            Some(begin) => Order::Begun(begin),
            None => {
                let order = sorted(owner);
                let place = places(&order);
                Order::Listed(Box::new((order, place)))
            }
        };
        let of = (0..owners).map(order).collect();
        Self { place: places(&base), base, of }
    }

    /// Returns the `index`-th item in the order of `owner`.
    #[inline]
    pub(super) fn item(&self, owner: usize, index: usize) -> usize {
        match &self.of[owner] {
            Order::Begun(begin) => {
                let at = *begin as usize + index;
                let at = if at < self.base.len() { at } else { at - self.base.len() };
                self.base[at] as usize
            }
            Order::Listed(list) => list.0[index] as usize,
        }
    }

    /// Returns the position of `item` in the order of `owner`.
    #[inline]
    pub(super) fn place(&self, owner: usize, item: usize) -> usize {
        match &self.of[owner] {
            Order::Begun(begin) => {
                let (place, begin) = (self.place[item] as usize, *begin as usize);
                if place >= begin { place - begin } else { place + self.base.len() - begin }
            }
            Order::Listed(list) => list.1[item] as usize,
        }
    }
}

/// Returns the position at which the order by ascending `step` begins in `base`, if it is a rotation of `base`.
fn rotation(base: &[u32], step: impl Fn(u32) -> u64) -> Option<u32> {
    let (mut begin, mut descents) = (0, 0);
    let (first, mut before) = (step(*base.first()?), 0);
    for (at, &item) in base.iter().enumerate() {
        let here = step(item);
        if at > 0 && here <= before {
            (begin, descents) = (at as u32, descents + 1);
        }
        before = here;
    }
    (descents == 0 || (descents == 1 && before < first)).then_some(begin)
}

fn places(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &item)| places[item as usize] = place as u32);
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn orders_are_those_of_sorting(items in 1usize..40, owners in 1usize..8, kind in 0..3, seed in any::<u64>()) {
            let step = |owner: usize, item: usize| match kind {
                0 => (item + owner * 7) as u64 % items as u64,
                1 => item as u64,
                _ => (item as u64 * 40 + 1).wrapping_mul(seed | 1) ^ (owner as u64) << 60,
            };
            let orders = KernelOrders::new(owners, items, step);
            for owner in 0..owners {
                let mut sorted: Vec<usize> = (0..items).collect();
                sorted.sort_by_key(|&item| step(owner, item));
                for (index, item) in sorted.into_iter().enumerate() {
                    prop_assert_eq!(orders.item(owner, index), item);
                    prop_assert_eq!(orders.place(owner, item), index);
                }
            }
        }
    }

    #[test]
    fn rotations_take_no_list() {
        let orders = KernelOrders::new(5, 9, |owner, item| ((item + owner) % 9) as u64);
        assert!(orders.of.iter().all(|order| matches!(order, Order::Begun(_))));
    }
}
