//! The options of a slow file system, which `trib compare` and the laboratory share.

use clap::Args;

use super::values::{amount, size, within};

/// Maximum number of servers. The preloaded library has the same number.
const MOST_SERVERS: u64 = 1024;

/// Options that make the measured files as slow as those of a file system with a limited rate and a latency.
#[derive(Args, Clone, Debug, Default)]
pub struct SlowFileOptions {
    /// Limit what the ranks of a host read and write together to this number of bytes a second: 25000000, 100MiB. With
    /// --file-servers it is the rate of each server. A preloaded library waits, which takes no processor time.
    #[arg(long, value_name = "BYTES_PER_S", value_parser = size)]
    pub file_rate: Option<u64>,
    /// Let each read and write of a file take this number of microseconds more.
    #[arg(long, value_name = "US", value_parser = amount, requires = "file_rate")]
    pub file_latency: Option<f64>,
    /// Limit servers instead of hosts: stripes of 1 MiB are on N servers in turn, each of which serves one request at a
    /// time, of all hosts.
    #[arg(long, value_name = "N", value_parser = servers, requires = "file_rate")]
    pub file_servers: Option<u64>,
    /// Make one host, or one server, slower by this factor: 0:10. Hosts are numbered by the end of their names.
    #[arg(long, value_name = "NUMBER:FACTOR", value_parser = slow, requires = "file_rate")]
    pub file_slow: Option<SlowOne>,
}

impl SlowFileOptions {
    /// Returns a text with the rate and what else is set; `None` if files have no rate.
    pub fn title(&self) -> Option<String> {
        let each = if self.file_servers.is_some() { "a server" } else { "a host" };
        let mut text = format!("files of {} bytes/s {each}", self.file_rate?);
        text += &self.file_servers.map_or(String::new(), |servers| format!(", {servers} servers"));
        text += &self.file_latency.map_or(String::new(), |micros| format!(", {micros} us a call"));
        text +=
            &self.file_slow.map_or(String::new(), |slow| format!(", number {} slower by {}", slow.number, slow.factor));
        Some(text)
    }

    /// Returns the seconds that `bytes` bytes in files take at least with ranks on `hosts` hosts: all hosts or servers move
    /// them at once, and one call has its latency. Latencies of other calls can overlap with bytes. `None` if files have
    /// no rate.
    pub fn floor(&self, bytes: f64, hosts: u64) -> Option<f64> {
        let rate = self.file_rate? as f64;
        let factor = self.file_slow.map_or(1.0, |slow| slow.factor);
        let speed = match self.file_servers {
            // Bytes can go to another host than the slow one, but a stripe stays on its server.
            Some(servers) => servers as f64 / factor,
            None => hosts as f64 - 1.0 + 1.0 / factor,
        };
        Some(bytes / (rate * speed) + self.file_latency.unwrap_or_default() / 1e6)
    }
}

/// Host or server that is slower than the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowOne {
    /// Number of the host or server.
    pub number: u32,
    /// Factor by which it is slower.
    pub factor: f64,
}

fn servers(text: &str) -> Result<u64, String> {
    within(text, 1, MOST_SERVERS)
}

fn slow(text: &str) -> Result<SlowOne, String> {
    let wrong = || "allowed: the number of a host or server, and a factor of 1 or more: 0:10".to_string();
    let (number, factor) = text.split_once(':').ok_or_else(wrong)?;
    let number = within(number, 0, MOST_SERVERS - 1).map_err(|_| wrong())? as u32;
    let factor = amount(factor).ok().filter(|factor| (1.0..=1e6).contains(factor)).ok_or_else(wrong)?;
    Ok(SlowOne { number, factor })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_follows_from_rate_hosts_and_servers() {
        assert_eq!(SlowFileOptions::default().floor(100.0, 4), None);
        let hosts =
            SlowFileOptions { file_rate: Some(100), file_latency: Some(500_000.0), ..SlowFileOptions::default() };
        assert_eq!(hosts.floor(1000.0, 4), Some(3.0));
        let slow = SlowFileOptions { file_slow: Some(SlowOne { number: 0, factor: 2.0 }), ..hosts };
        assert_eq!(slow.floor(700.0, 4), Some(2.5));
        assert_eq!(SlowFileOptions { file_servers: Some(7), ..slow }.floor(700.0, 4), Some(2.5));
    }

    #[test]
    fn a_slow_one_is_a_number_and_a_factor() {
        assert_eq!(slow("3:2.5"), Ok(SlowOne { number: 3, factor: 2.5 }));
        for bad in ["", "3", ":2", "3:", "-1:2", "3:0.5", "3:nan", "3:inf", "1024:2"] {
            assert!(slow(bad).unwrap_err().starts_with("allowed: "), "{bad}");
        }
    }
}
