//! Integers that ranks change at the same time. The code that changes them is generic, so that tests can run it on integers that
//! show every order in which a processor may let ranks see the changes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An integer that ranks change at the same time.
pub trait Atom<T> {
    /// Returns the value.
    fn load(&self, order: Ordering) -> T;

    /// Sets the value.
    fn store(&self, value: T, order: Ordering);

    /// Sets the value, and returns the one before.
    fn swap(&self, value: T, order: Ordering) -> T;

    /// Adds to the value, and returns the one before.
    fn fetch_add(&self, more: T, order: Ordering) -> T;

    /// Subtracts from the value, and returns the one before.
    fn fetch_sub(&self, less: T, order: Ordering) -> T;
}

macro_rules! atom {
    ($atomic:ty, $value:ty) => {
        impl Atom<$value> for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> $value {
                <$atomic>::load(self, order)
            }

            #[inline]
            fn store(&self, value: $value, order: Ordering) {
                <$atomic>::store(self, value, order)
            }

            #[inline]
            fn swap(&self, value: $value, order: Ordering) -> $value {
                <$atomic>::swap(self, value, order)
            }

            #[inline]
            fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                <$atomic>::fetch_add(self, more, order)
            }

            #[inline]
            fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                <$atomic>::fetch_sub(self, less, order)
            }
        }
    };
}

atom!(AtomicU32, u32);
atom!(AtomicU64, u64);

/// Integers of loom, which runs a test in every order of its threads, and with every order in which they see stores.
#[cfg(test)]
pub mod orders {
    use std::sync::atomic::Ordering;

    use loom::sync::atomic::{AtomicU32, AtomicU64, fence};

    use super::Atom;

    /// An integer of loom. loom treats an access of order `SeqCst` like `AcqRel`; two fences of order `SeqCst` around the access,
    /// which loom knows, give it the promised order. `IS_WEAK` leaves the fences out: a test must then fail, which shows that it
    /// can find errors.
    pub struct Loom<A, const IS_WEAK: bool>(A);

    impl<A, const IS_WEAK: bool> Loom<A, IS_WEAK> {
        fn within<T>(&self, order: Ordering, access: impl FnOnce(&A) -> T) -> T {
            let fenced = order == Ordering::SeqCst && !IS_WEAK;
            if fenced {
                fence(Ordering::SeqCst);
            }
            let value = access(&self.0);
            if fenced {
                fence(Ordering::SeqCst);
            }
            value
        }
    }

    /// Returns the order that loom gets for a load or a store: `half` in place of `SeqCst`, otherwise `order`.
    fn half(order: Ordering, half: Ordering) -> Ordering {
        if order == Ordering::SeqCst { half } else { order }
    }

    fn both(order: Ordering) -> Ordering {
        half(order, Ordering::AcqRel)
    }

    macro_rules! loom_atom {
        ($atomic:ty, $value:ty) => {
            impl<const IS_WEAK: bool> Loom<$atomic, IS_WEAK> {
                pub fn new(value: $value) -> Self {
                    Self(<$atomic>::new(value))
                }
            }

            impl<const IS_WEAK: bool> Atom<$value> for Loom<$atomic, IS_WEAK> {
                fn load(&self, order: Ordering) -> $value {
                    self.within(order, |atom| atom.load(half(order, Ordering::Acquire)))
                }

                fn store(&self, value: $value, order: Ordering) {
                    self.within(order, |atom| match order {
                        // In loom, a store may come before a value that an exchange of another rank has already replaced. A
                        // swap may not.
                        Ordering::SeqCst => drop(atom.swap(value, Ordering::AcqRel)),
                        order => atom.store(value, order),
                    })
                }

                fn swap(&self, value: $value, order: Ordering) -> $value {
                    self.within(order, |atom| atom.swap(value, both(order)))
                }

                fn fetch_add(&self, more: $value, order: Ordering) -> $value {
                    self.within(order, |atom| atom.fetch_add(more, both(order)))
                }

                fn fetch_sub(&self, less: $value, order: Ordering) -> $value {
                    self.within(order, |atom| atom.fetch_sub(less, both(order)))
                }
            }
        };
    }

    pub type U32<const IS_WEAK: bool> = Loom<AtomicU32, IS_WEAK>;
    pub type U64<const IS_WEAK: bool> = Loom<AtomicU64, IS_WEAK>;

    loom_atom!(AtomicU32, u32);
    loom_atom!(AtomicU64, u64);
}
