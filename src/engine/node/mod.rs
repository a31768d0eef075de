//! The inner layer of `two_layer` in memory that the ranks of a local aggregator share: a copy in place of a message.
//!
//! The local aggregator merges its members' lists once, with the metadata, and tells each member where its bytes lie in the
//! messages that it will send ([`places`]). In a round of a write it makes room for these messages in a ring of shared memory,
//! one after the other in the order of its sends, and says where; the members, all at once, copy their bytes from the
//! caller's buffer to where they belong; a message that has all its bytes goes out of the ring as it is. So a byte is copied
//! once inside the node. A read is the same backwards: a message that arrives is copied into the ring, and members take their
//! bytes from there.
//!
//! **Why it cannot deadlock.** Take, of all messages between local aggregators and aggregators that are not delivered, the
//! first in the order of (round, step). Its local aggregator makes room in the order of its chain, so all that lies in the
//! ring was before it, is delivered, and gives its room back; an empty ring has room for any message. Its members have finished the
//! rounds before, and in this one wait for nothing but that room. (See `docs/design.md`, section 2.)
//!
//! | module | holds |
//! |---|---|
//! | [`places`] | where members' bytes lie, told with the metadata |
//! | [`ring`] | the ring, and who is told where a message lies |
//! | [`inside`] | a rank's part in the rounds |

mod inside;
mod places;
mod ring;

pub use inside::Inside;
pub use places::{InMemory, agree_on_places};
pub use ring::AREA;
