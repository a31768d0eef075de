//! What the engine asks of the place where it runs. Each of these is reached through one module: the time ([`clock`]), threads
//! beside the rank ([`jobs`]), waits ([`waits`]), and state of the process ([`process`]). A test forbids them elsewhere.

pub mod clock;
pub mod jobs;
pub mod process;
pub mod waits;
