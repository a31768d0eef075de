/* The C API of Tributary: collective I/O of many ranks in one shared file.
 *
 * Every function returns a trib_status, but for those that return a text or a number. A function that is collective is
 * called by all ranks of the file's communicator, in the same order on each, and all get the same status. A NULL file is
 * the one error that no other rank learns of. Pointers are to be what the function says, or NULL where it says so; other
 * NULLs are TRIB_ERR_ARGUMENT. Sizes, offsets and counts are in bytes and have 64 bits.
 *
 * docs/tutorial/c.md of Tributary has a first program; docs/reference/hints.md lists the hints.
 *
 * Generated from bindings/c/src; regenerate with: ./generate */

#ifndef TRIBUTARY_H
#define TRIBUTARY_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What a function returns. Collective functions return the same on every rank.
 */
typedef enum {
  /**
   * All went well.
   */
  TRIB_OK = 0,
  /**
   * An argument that cannot be met.
   */
  TRIB_ERR_ARGUMENT = 1,
  /**
   * A hint with a bad value, or an unknown key that begins with trib_.
   */
  TRIB_ERR_HINT = 2,
  /**
   * The file system is full (ENOSPC).
   */
  TRIB_ERR_NO_SPACE = 3,
  /**
   * The quota is used up (EDQUOT).
   */
  TRIB_ERR_QUOTA = 4,
  /**
   * The file-size limit of a process or of the file system (EFBIG).
   */
  TRIB_ERR_TOO_LARGE = 5,
  /**
   * A file system, or a file opened, for reading only.
   */
  TRIB_ERR_READ_ONLY = 6,
  /**
   * Permission denied.
   */
  TRIB_ERR_ACCESS = 7,
  /**
   * There is no such file or directory.
   */
  TRIB_ERR_NO_SUCH_FILE = 8,
  /**
   * A path that is no file, or misused.
   */
  TRIB_ERR_BAD_FILE = 9,
  /**
   * Any other error of an operating-system call on the file.
   */
  TRIB_ERR_IO = 10,
  /**
   * MPI returned an error. Other ranks may not know of it; the file can only be closed.
   */
  TRIB_ERR_FABRIC = 11,
  /**
   * An error of Tributary itself. Other ranks may not know of it. Please report it.
   */
  TRIB_ERR_INTERNAL = 12,
  /**
   * A rank has no memory for its part of the call.
   */
  TRIB_ERR_NO_MEMORY = 13,
} trib_status;

/**
 * How the bytes of a call went.
 */
typedef enum {
  /**
   * There was nothing to write, or to read.
   */
  TRIB_PATH_NOTHING = 0,
  /**
   * Through aggregators.
   */
  TRIB_PATH_EXCHANGE = 1,
  /**
   * Every rank wrote, or read, its own extents.
   */
  TRIB_PATH_DIRECT = 2,
  /**
   * Through memory that all ranks share.
   */
  TRIB_PATH_SHARED = 3,
  /**
   * To rank 0 with the agreement: little data, all of which it wrote.
   */
  TRIB_PATH_ROOT = 4,
} trib_path;

/**
 * How a file is opened.
 */
typedef enum {
  /**
   * A new file, or an existing one emptied.
   */
  TRIB_CREATE = 1,
  /**
   * An existing file as it is, or a new one.
   */
  TRIB_UPDATE = 2,
  /**
   * An existing file, which is only read.
   */
  TRIB_READ = 3,
} trib_mode;

/**
 * A sequence of extents, of a file or of memory: byte ranges in the order in which bytes fill them. Regular parts take
 * little memory, whatever the number of their extents. Belongs to no file; nothing about it is collective.
 */
typedef struct trib_extents trib_extents;

/**
 * An open file of all ranks of a communicator. One thread at a time may use it, one that may call MPI.
 */
typedef struct trib_file trib_file;

/**
 * The last collective write or read that went well, over all ranks: the same on each. All 0 before the first.
 */
typedef struct {
  /**
   * Collective writes and reads of this file that went well so far.
   */
  int64_t calls;
  /**
   * How the bytes went; `trib_report_json` says why.
   */
  trib_path path;
  /**
   * 1 when the plan of the call before was used again.
   */
  int plan_reused;
  /**
   * Ranks that wrote, or read, the file for all.
   */
  int64_t aggregators;
  /**
   * Extents of the file, as the ranks gave them.
   */
  int64_t requests;
  /**
   * Bytes asked to be written, or read.
   */
  int64_t bytes;
  /**
   * Bytes that got into the file; what several ranks wrote counts once.
   */
  int64_t bytes_written;
  /**
   * Bytes that were read: those before the end of the file.
   */
  int64_t bytes_read;
  /**
   * The most windows with data that any aggregator had.
   */
  int64_t rounds;
  /**
   * Bytes of the messages that told aggregators of extents.
   */
  int64_t metadata_bytes;
  /**
   * Messages that told aggregators of extents.
   */
  int64_t metadata_messages;
  /**
   * Messages with data.
   */
  int64_t data_messages;
  /**
   * Bytes of extents and data that went between ranks of a node in memory that they share: 0 where the inner layer of
   * `two_layer` is messages, or there is none.
   */
  int64_t in_memory;
  /**
   * Seconds, the most of any rank: cutting the access by aggregator.
   */
  double seconds_flatten;
  /**
   * Telling aggregators of extents.
   */
  double seconds_metadata;
  /**
   * Exchanging data.
   */
  double seconds_data;
  /**
   * Copying into windows, or out of them.
   */
  double seconds_placement;
  /**
   * In the file system, while others are exchanged.
   */
  double seconds_io;
  /**
   * Agreeing on ranges, errors and these numbers.
   */
  double seconds_agreement;
  /**
   * From start to end.
   */
  double seconds_total;
} trib_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What a status is, in a few words. `code` may be any number. Not collective. The text lives as long as the program.
 */
const char *trib_error_string(int code);

/**
 * The error of the last function that failed on this thread, as a sentence that names the thing, its value, and what is
 * allowed; empty when none has. Not collective. The text lives until the next function fails on this thread.
 */
const char *trib_last_error_message(void);

/**
 * The version of the library, as "0.1.0". Not collective. The text lives as long as the program.
 */
const char *trib_version(void);

/**
 * Opens a file on all ranks of a communicator. Collective over `comm`, an intracommunicator, which is duplicated; path,
 * mode and hints must be the same on all ranks.
 *
 * `mode` is one of `trib_mode`. `hints` is NULL or "key=value;key=value...", which wins over the environment variable
 * TRIB_HINTS, which wins over the file that the environment variable TRIB_HINTS_FILE names, which wins over what there is
 * for other MPI libraries (docs/reference/hints.md; Cray's MPICH_MPIIO_HINTS wins over all). Variables and files are read by the
 * process's first open. `*file` becomes the file, or NULL on any error.
 *
 * Errors: the same on all ranks, but for a `comm` that is none (MPI_COMM_NULL, an intercommunicator, MPI not initialised),
 * which is an error at once: TRIB_ERR_ARGUMENT.
 */
trib_status trib_open(MPI_Comm comm,
                      const char *path,
                      int mode,
                      const char *hints,
                      trib_file **file);

/**
 * As `trib_open`, with the Fortran handle of the communicator (of `use mpi_f08`, its component MPI_VAL).
 */
trib_status trib_open_fortran(int comm, const char *path, int mode, const char *hints, trib_file **file);

/**
 * Closes a file. Collective. When it returns, all ranks have closed theirs: the file may be removed. `*file` becomes NULL,
 * also on an error, but not while an operation is in flight (TRIB_ERR_ARGUMENT): that must end first. A NULL `*file` is
 * closed already: TRIB_OK. To be called before MPI_Finalize.
 *
 * Errors: what the file system reports on closing on any rank, on every rank.
 */
trib_status trib_close(trib_file **file);

/**
 * Waits until everything that was written so far, by all ranks, is on stable storage. Collective.
 */
trib_status trib_sync(trib_file *file);

/**
 * Makes the file `size` bytes long: cut there, or zeros behind what there was. Collective, with the same `size` on all
 * ranks; it happens when all ranks have come.
 */
trib_status trib_set_size(trib_file *file, int64_t size);

/**
 * The size of the file in bytes, as the file system tells this rank now. Not collective.
 */
trib_status trib_get_size(trib_file *file, int64_t *size);

/**
 * Writes to the file, all ranks together. Collective; a rank without data has a `file_count` of 0.
 *
 * Extent i of the file is `file_lengths[i]` bytes at `file_offsets[i]`; extent j of memory is `memory_lengths[j]` bytes at
 * `buffer` + `memory_offsets[j]`. The bytes of memory, in the order of its list, fill the extents of the file, in the
 * order of that list; both have as many bytes in all. With both lists of memory NULL and a `memory_count` of 0, the bytes
 * follow one another from `buffer` on. Offsets and lengths are bytes, 0 or more, in any order. Memory may be of several
 * objects of the program; what lies between its extents is not touched. The lists are read once: they need not outlive the
 * call.
 *
 * `*bytes`, unless `bytes` is NULL, becomes the number of bytes that were written for this rank: all, or 0 on an error.
 * Where ranks write the same byte, one of theirs stays (which one: hint trib_overlap).
 *
 * Costs what docs/how-it-works/overview.md says of an exchange: each byte travels once to the rank that writes it. The same lists as in
 * the call before cost no planning again, for a read as well.
 *
 * Errors: the lowest failing rank's, on every rank. Some of the bytes may be in the file then.
 */
trib_status trib_write_all(trib_file *file,
                           int64_t file_count,
                           const int64_t *file_offsets,
                           const int64_t *file_lengths,
                           int64_t memory_count,
                           const int64_t *memory_offsets,
                           const int64_t *memory_lengths,
                           const void *buffer,
                           int64_t *bytes);

/**
 * Reads from the file, all ranks together. Collective. The arguments are those of `trib_write_all`, the other way: what the
 * extents of the file hold fills the extents of memory. Ranks may read the same bytes.
 *
 * `*bytes` becomes the number of this rank's bytes that lie before the end of the file. What lies behind it stays as it was
 * in memory; holes are zeros.
 *
 * Errors: the lowest failing rank's, on every rank. What memory holds is of no meaning then.
 */
trib_status trib_read_all(trib_file *file,
                          int64_t file_count,
                          const int64_t *file_offsets,
                          const int64_t *file_lengths,
                          int64_t memory_count,
                          const int64_t *memory_offsets,
                          const int64_t *memory_lengths,
                          void *buffer,
                          int64_t *bytes);

/**
 * As `trib_write_all`, with `file_extents` (NULL: none) in place of the list of the file and `memory_extents` (NULL: the
 * bytes one after the other) in place of that of memory. Both are as they were, and may be freed.
 */
trib_status trib_write_all_extents(trib_file *file,
                                   const trib_extents *file_extents,
                                   const trib_extents *memory_extents,
                                   const void *buffer,
                                   int64_t *bytes);

/**
 * As `trib_read_all`, with `file_extents` (NULL: none) in place of the list of the file and `memory_extents` (NULL: the
 * bytes one after the other) in place of that of memory.
 */
trib_status trib_read_all_extents(trib_file *file,
                                  const trib_extents *file_extents,
                                  const trib_extents *memory_extents,
                                  void *buffer,
                                  int64_t *bytes);

/**
 * Makes an empty sequence, to be given back to `trib_extents_free`.
 */
trib_status trib_extents_create(trib_extents **extents);

/**
 * Appends `count` extents: `lengths[i]` bytes at `offsets[i]`, in any order, none below 0. Lengths of 0 are left out.
 * O(count) time; memory for what does not repeat. On an error nothing is appended.
 */
trib_status trib_extents_add_list(trib_extents *extents, int64_t count, const int64_t *offsets, const int64_t *lengths);

/**
 * Appends a run: `count` extents of `length` bytes, the first at `offset`, each `stride` bytes (which may be negative)
 * behind the one before. O(1) time and memory. On an error nothing is appended.
 */
trib_status trib_extents_add_run(trib_extents *extents, int64_t offset, int64_t length, int64_t stride, int64_t count);

/**
 * Appends a subarray of an array with `dimensions` dimensions, slowest first (the order of C), that begins at `offset`:
 * dimension d of the array has `sizes[d]` elements of `element` bytes, of which `subsizes[d]` from `starts[d]` on are
 * taken. O(dimensions) time and memory. On an error nothing is appended.
 */
trib_status trib_extents_add_subarray(trib_extents *extents,
                                      int64_t offset,
                                      int64_t element,
                                      int dimensions,
                                      const int64_t *sizes,
                                      const int64_t *subsizes,
                                      const int64_t *starts);

/**
 * How many extents there are (those of a run or subarray that adjoin count as one), and how many bytes they have in all.
 * `count` and `bytes` may be NULL.
 */
trib_status trib_extents_total(const trib_extents *extents,
                               int64_t *count,
                               int64_t *bytes);

/**
 * Frees a sequence. `*extents` becomes NULL; what is NULL already stays so.
 */
trib_status trib_extents_free(trib_extents **extents);

/**
 * Starts a collective write with the arguments of `trib_write_all`. Collective. The lists are read before it returns; the
 * memory must stay as it is until the operation has ended.
 *
 * The operation goes on only inside `trib_test` and `trib_wait`. One may be in flight for each file: until it has ended,
 * other calls on the file are errors. With several files, wait in the same order on all ranks, or test in turn.
 *
 * Errors: bad arguments of a rank are errors of the operation, on all ranks, when it ends.
 */
trib_status trib_start_write_all(trib_file *file,
                                 int64_t file_count,
                                 const int64_t *file_offsets,
                                 const int64_t *file_lengths,
                                 int64_t memory_count,
                                 const int64_t *memory_offsets,
                                 const int64_t *memory_lengths,
                                 const void *buffer);

/**
 * Starts a collective read with the arguments of `trib_read_all`. As `trib_start_write_all`; the memory must not be touched
 * until the operation has ended.
 */
trib_status trib_start_read_all(trib_file *file,
                                int64_t file_count,
                                const int64_t *file_offsets,
                                const int64_t *file_lengths,
                                int64_t memory_count,
                                const int64_t *memory_offsets,
                                const int64_t *memory_lengths,
                                void *buffer);

/**
 * Starts a collective write with the arguments of `trib_write_all_extents`, as `trib_start_write_all` does.
 */
trib_status trib_start_write_all_extents(trib_file *file,
                                         const trib_extents *file_extents,
                                         const trib_extents *memory_extents,
                                         const void *buffer);

/**
 * Starts a collective read with the arguments of `trib_read_all_extents`, as `trib_start_read_all` does.
 */
trib_status trib_start_read_all_extents(trib_file *file,
                                        const trib_extents *file_extents,
                                        const trib_extents *memory_extents,
                                        void *buffer);

/**
 * Goes on with the operation in flight as far as it can without waiting. `*done` becomes 1 when the operation has ended,
 * well or with the error that is returned, and 0 when it has not; once it has, `*bytes` (unless `bytes` is NULL) is what
 * the blocking call would have given. Not collective, but all ranks must bring the operation to its end.
 *
 * Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
 */
trib_status trib_test(trib_file *file,
                      int *done,
                      int64_t *bytes);

/**
 * Goes on with the operation in flight until it has ended. `*bytes` as with `trib_test`. All ranks must bring the operation
 * to its end.
 *
 * Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
 */
trib_status trib_wait(trib_file *file,
                      int64_t *bytes);

/**
 * Writes `length` bytes of `buffer` at `offset`, this rank alone. Not collective. `*bytes`, unless `bytes` is NULL, becomes
 * the number of bytes written: all, or 0 on an error (some may be in the file then).
 */
trib_status trib_write_at(trib_file *file,
                          int64_t offset,
                          const void *buffer,
                          int64_t length,
                          int64_t *bytes);

/**
 * Reads `length` bytes at `offset` into `buffer`, this rank alone. Not collective. `*bytes`, unless `bytes` is NULL, becomes
 * the number of bytes that the file had there; behind its end the buffer stays as it was.
 */
trib_status trib_read_at(trib_file *file,
                         int64_t offset,
                         void *buffer,
                         int64_t length,
                         int64_t *bytes);

/**
 * How many hints there are, for `trib_hint_at`; 0 for a NULL file. Not collective.
 */
int64_t trib_hint_count(const trib_file *file);

/**
 * The hint of number `index`, from 0 to `trib_hint_count` - 1, with the value in force: where the hint leaves a choice, the
 * one that was made. Both texts live until the file is closed. Not collective.
 */
trib_status trib_hint_at(trib_file *file,
                         int64_t index,
                         const char **key,
                         const char **value);

/**
 * The value in force of the hint `key`, as `trib_hint_at` gives it, for the `size` bytes at `value`: a text that ends with
 * 0, cut where it does not fit. `*length`, unless `length` is NULL, becomes the length of the whole text, without the 0.
 * Not collective.
 *
 * Errors: TRIB_ERR_HINT for a key that is no hint's.
 */
trib_status trib_get_hint(trib_file *file,
                          const char *key,
                          char *value,
                          size_t size,
                          size_t *length);

/**
 * What the last collective call that went well did. Not collective.
 */
trib_status trib_get_statistics(trib_file *file, trib_statistics *statistics);

/**
 * File, driver, ranks, aggregators and the last collective call that went well, as one JSON object, for the `size` bytes at
 * `text`: it ends with 0, cut where it does not fit. `*length`, unless `length` is NULL, becomes the length of the whole
 * text, without the 0. Not collective, and the same on all ranks. No operation may be in flight.
 */
trib_status trib_report_json(trib_file *file,
                             char *text,
                             size_t size,
                             size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRIBUTARY_H */
