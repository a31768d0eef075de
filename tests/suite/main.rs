//! The tests of the crate that run ranks as threads. One program, because linking takes longer than running.

mod announced;
mod auto_kernels;
mod cached_apart;
mod capture;
mod conformance;
mod counted;
mod direct_writes;
mod f_case;
mod golden;
mod independent;
mod islands;
mod kernels;
mod layers;
mod links;
mod machine_file;
mod memory_gaps;
mod moved_plans;
mod not_shared;
mod operations;
mod overlap;
mod pages;
mod patterns;
mod several_hosts;
mod shared_memory;
mod sieving;
mod sizes;
