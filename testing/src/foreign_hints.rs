//! Provides hints for other MPI libraries, one from each source, and the hints in force that result.

/// The environment of a program that opens files with `cb_buffer_size=3145728` and `striping_unit=12288`.
/// TRIB_TEST_HINTS has the hints that must be in force.
pub struct ForeignHints(tempfile::TempDir);

impl ForeignHints {
    /// # Panics
    /// Panics if the file of hints cannot be written.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("romio"), "# of the site\nstriping_unit 4096\nromio_no_indep_rw true\n")
            .expect("a file of hints");
        Self(folder)
    }

    /// Returns names and values of the environment variables.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let due = [
            // Of ROMIO_HINTS; its striping_unit is the program's.
            "romio_no_indep_rw=true",
            "striping_unit=12288",
            "trib_driver=gpfs",
            "romio_ds_write=disable",
            // TRIB_HINTS goes over what OMPIO has, and Cray's over the program's.
            "romio_cb_read=enable",
            "cb_nodes=1",
            "cb_buffer_size=2097152",
        ];
        vec![
            ("ROMIO_HINTS", self.0.path().join("romio").display().to_string()),
            ("I_MPI_EXTRA_FILESYSTEM_FORCE", "gpfs".to_string()),
            ("OMPI_MCA_io_ompio_num_aggregators", "2".to_string()),
            ("TRIB_HINTS", "romio_cb_read=enable; romio_ds_write=disable; cb_nodes=1".to_string()),
            ("MPICH_MPIIO_HINTS", "no*such:cb_buffer_size=97,*:cb_buffer_size=2097152".to_string()),
            ("TRIB_TEST_HINTS", due.join(";")),
        ]
    }
}
