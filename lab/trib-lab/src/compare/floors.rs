//! How long links and files that have a rate take at least for the bytes of a pattern.

use crate::cli::compare::MeasureOptions;
use crate::hosts::bytes_a_second;
use trib::Failure;
use trib::cli::slow_file::SlowFileOptions;

/// Rates of links and files, and the hosts that have them.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    file: SlowFileOptions,
    /// Bytes a second of the link of a host.
    link: Option<f64>,
    hosts: u64,
}

impl Rates {
    /// Returns the rates that the options name, on `hosts` hosts.
    ///
    /// # Errors
    /// The rate of links is not valid.
    pub fn of(measure: &MeasureOptions, hosts: u64) -> Result<Self, Failure> {
        let link = measure.shape.as_deref().map(bytes_a_second).transpose()?;
        Ok(Self { file: measure.slow_file.clone(), link, hosts })
    }

    /// Returns the seconds that the file system needs for `bytes` bytes at least; `None` if files have no rate.
    pub fn file_seconds(&self, bytes: u64) -> Option<f64> {
        self.file.floor(bytes as f64, self.hosts)
    }

    /// Returns the seconds that links need at least for `between` bytes between hosts, if all hosts send equal parts;
    /// `None` if links have no rate, or the number of bytes is not known.
    pub fn network_seconds(&self, between: Option<u64>) -> Option<f64> {
        Some(between? as f64 / (self.link? * self.hosts as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_floor_is_of_what_has_a_rate() {
        let file =
            SlowFileOptions { file_rate: Some(100), file_latency: Some(500_000.0), ..SlowFileOptions::default() };
        let rates = Rates { file, link: Some(bytes_a_second("400bit").unwrap()), hosts: 4 };
        assert_eq!((rates.file_seconds(400), rates.network_seconds(Some(600))), (Some(1.5), Some(3.0)));
        assert_eq!((Rates::default().file_seconds(400), rates.network_seconds(None)), (None, None));
        assert_eq!(["1gbit", "2mbps", "1kibit"].map(|rate| bytes_a_second(rate).unwrap()), [125e6, 2e6, 128.0]);
    }
}
