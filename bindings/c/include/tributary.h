/* The C API of Tributary: collective I/O of many ranks in one shared file.
 *
 * Most functions return a trib_status; a few return a text or a number. All ranks of the file's communicator must call a
 * collective function, in the same order on each rank, and all ranks get the same status. The one exception is a NULL
 * file: only the calling rank gets that error. A pointer may be NULL only where the function says so; any other NULL is
 * TRIB_ERR_ARGUMENT. Sizes and offsets are in bytes; sizes, offsets and counts have 64 bits.
 *
 * docs/tutorial/c.md in Tributary's repository has a first program; docs/reference/hints.md lists the hints.
 *
 * Generated from bindings/c/src; regenerate with: ./generate */

#ifndef TRIBUTARY_H
#define TRIBUTARY_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Result of a function. Collective functions return the same on every rank.
 */
typedef enum {
  /**
   * No error.
   */
  TRIB_OK = 0,
  /**
   * An argument is not allowed.
   */
  TRIB_ERR_ARGUMENT = 1,
  /**
   * A hint has a bad value, or an unknown key begins with trib_.
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
   * The file would exceed the size limit of a process or of the file system (EFBIG).
   */
  TRIB_ERR_TOO_LARGE = 5,
  /**
   * The file system is mounted read-only, or the file was opened for reading only.
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
   * The path is not a regular file, or not one that can be used as asked (a directory, for example).
   */
  TRIB_ERR_BAD_FILE = 9,
  /**
   * An operating-system call on the file returned another error.
   */
  TRIB_ERR_IO = 10,
  /**
   * MPI returned an error. Other ranks may not know of it. The file can only be closed.
   */
  TRIB_ERR_FABRIC = 11,
  /**
   * Tributary has a defect. Other ranks may not know of this error. Please report it.
   */
  TRIB_ERR_INTERNAL = 12,
  /**
   * A rank could not allocate the memory for its part of the call.
   */
  TRIB_ERR_NO_MEMORY = 13,
} trib_status;

/**
 * The path that the data of a call took.
 */
typedef enum {
  /**
   * No rank had data.
   */
  TRIB_PATH_NOTHING = 0,
  /**
   * Aggregators wrote or read the data, which all ranks exchanged with them by messages.
   */
  TRIB_PATH_EXCHANGE = 1,
  /**
   * Every rank wrote or read its own extents.
   */
  TRIB_PATH_DIRECT = 2,
  /**
   * Data went through memory that all ranks share, or that the ranks of each host share: none went from one host
   * to another.
   */
  TRIB_PATH_SHARED = 3,
  /**
   * Rank 0 wrote all data, which was so little that it travelled with the messages of agreement.
   */
  TRIB_PATH_ROOT = 4,
} trib_path;

/**
 * Mode in which a file is opened.
 */
typedef enum {
  /**
   * Create the file, or truncate an existing one.
   */
  TRIB_CREATE = 1,
  /**
   * Open an existing file and keep its contents, or create it.
   */
  TRIB_UPDATE = 2,
  /**
   * Open an existing file for reading only.
   */
  TRIB_READ = 3,
} trib_mode;

/**
 * A sequence of extents (byte ranges) of a file or of memory, in the order in which data fills them. Regular parts take
 * little memory, whatever their number of extents. A sequence belongs to no file; none of its functions is collective.
 */
typedef struct trib_extents trib_extents;

/**
 * An open file of all ranks of a communicator. Only one thread at a time may use it, and that thread must be allowed to
 * call MPI.
 */
typedef struct trib_file trib_file;

/**
 * Statistics of the last collective write or read that succeeded. They cover all ranks and are the same on each. All are
 * 0 before the first such call.
 */
typedef struct {
  /**
   * Number of collective writes and reads of this file that have succeeded so far.
   */
  int64_t calls;
  /**
   * The path that the data took; `trib_report_json` says why.
   */
  trib_path path;
  /**
   * 1 if the plan of the previous call was reused, else 0.
   */
  int plan_reused;
  /**
   * Number of ranks that wrote or read the file for the others.
   */
  int64_t aggregators;
  /**
   * Number of extents in the file that all ranks together passed.
   */
  int64_t requests;
  /**
   * Number of bytes that all ranks together asked to write or read.
   */
  int64_t bytes;
  /**
   * Number of bytes that all ranks together wrote to the file; a byte that several ranks gave counts once.
   */
  int64_t bytes_written;
  /**
   * Number of bytes that all ranks together read, without bytes beyond the end of the file.
   */
  int64_t bytes_read;
  /**
   * Number of rounds: the maximum number of windows with data on any aggregator.
   */
  int64_t rounds;
  /**
   * Number of bytes of metadata messages, in which ranks send their extents to aggregators.
   */
  int64_t metadata_bytes;
  /**
   * Number of metadata messages.
   */
  int64_t metadata_messages;
  /**
   * Number of messages with data.
   */
  int64_t data_messages;
  /**
   * Number of bytes of metadata and data that ranks of one node exchanged through shared memory: 0 if the kernel
   * is not `two_layer`, or if the ranks of a node share no memory.
   */
  int64_t in_memory;
  /**
   * Seconds of splitting the access by aggregator. This and all times below are the maximum over the ranks.
   */
  double seconds_flatten;
  /**
   * Seconds of exchanging metadata, which tell aggregators the extents.
   */
  double seconds_metadata;
  /**
   * Seconds of exchanging data.
   */
  double seconds_data;
  /**
   * Seconds of copying into windows or out of them.
   */
  double seconds_placement;
  /**
   * Seconds in the file system. Ranks exchange other windows (pieces of the file) meanwhile.
   */
  double seconds_io;
  /**
   * Seconds of agreeing on the range of the file, on errors and on these numbers.
   */
  double seconds_agreement;
  /**
   * Seconds from the start of the call to its end.
   */
  double seconds_total;
} trib_statistics;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Describes a status in a few words. `code` may be any number. Not collective. The text lives as long as the program.
 */
const char *trib_error_string(int code);

/**
 * Describes the error of the last function that failed on this thread. The sentence names the argument or file, its
 * value and what is allowed; it is empty if no function has failed. Not collective. The text lives until the next
 * function fails on this thread.
 */
const char *trib_last_error_message(void);

/**
 * The version of the library, such as "0.1.0". Not collective. The text lives as long as the program.
 */
const char *trib_version(void);

/**
 * Opens a file on all ranks of a communicator. Collective over `comm`, an intracommunicator, which is duplicated. Path,
 * mode and hints must be the same on all ranks.
 *
 * A prefix of `path` that names a file system, such as "lustre:", is dropped. One that stands for something that is not a file, such
 * as "daos:", is an error.
 *
 * `mode` is one of `trib_mode`. `hints` is NULL or "key=value;key=value...". Where sources of hints disagree, the first of
 * these wins: Cray's MPICH_MPIIO_HINTS, `hints`, the environment variable TRIB_HINTS, the file that the environment
 * variable TRIB_HINTS_FILE names, other hints for other MPI libraries (docs/reference/hints.md). Unknown keys are ignored;
 * `trib_check_hints` finds them. The process's first open reads the variables and files. `*file` becomes the file, or NULL on any
 * error.
 *
 * Errors: the same on all ranks. One exception: if `comm` is not usable (MPI_COMM_NULL, an intercommunicator, MPI not
 * initialised), this rank returns TRIB_ERR_ARGUMENT at once.
 */
trib_status trib_open(MPI_Comm comm,
                      const char *path,
                      int mode,
                      const char *hints,
                      trib_file **file);

/**
 * Like `trib_open`, with the Fortran handle of the communicator (with `use mpi_f08`, its component MPI_VAL).
 */
trib_status trib_open_fortran(int comm, const char *path, int mode, const char *hints, trib_file **file);

/**
 * Closes a file. Collective; call it before MPI_Finalize. When it returns, all ranks have closed the file, and it may be
 * removed. `*file` becomes NULL, on an error too. If `*file` is NULL already, the result is TRIB_OK. While an operation is
 * in flight, nothing is closed and the result is TRIB_ERR_ARGUMENT.
 *
 * Errors: an error that the file system reports on any rank is the result on every rank.
 */
trib_status trib_close(trib_file **file);

/**
 * Waits until everything that all ranks have written so far is on stable storage. Collective.
 */
trib_status trib_sync(trib_file *file);

/**
 * Sets the size of the file to `size` bytes: truncates it, or extends it with zeros. Collective, with the same `size` on
 * all ranks. The size changes after all ranks have made the call.
 */
trib_status trib_set_size(trib_file *file,
                          int64_t size);

/**
 * Returns the size of the file in bytes, as the file system reports it to this rank now. Not collective.
 */
trib_status trib_get_size(trib_file *file, int64_t *size);

/**
 * Writes this rank's data to the file. Collective; a rank without data passes a `file_count` of 0.
 *
 * Extent i of the file is `file_lengths[i]` bytes at `file_offsets[i]`. Extent j of memory is `memory_lengths[j]` bytes at
 * `buffer` + `memory_offsets[j]`. The bytes of memory, in the order of its list, fill the extents of the file, in the
 * order of that list. Both lists must have the same number of bytes in all. If both lists of memory are NULL and
 * `memory_count` is 0, the bytes are contiguous from `buffer` on. Offsets and lengths are in bytes and 0 or more; offsets
 * may be in any order. The extents of memory may belong to several objects of the program; memory between them is not
 * touched. The lists may be freed when the call has returned.
 *
 * Sets `*bytes`, unless `bytes` is NULL, to the number of bytes written for this rank: all, or 0 on an error. If several
 * ranks write the same byte, the hint trib_overlap says whose byte the file holds.
 *
 * Cost: each byte is sent at most once, to the rank that writes it (docs/how-it-works/overview.md). A call with the same lists as the
 * call before, a write or a read, reuses its plan.
 *
 * Errors: the error of the lowest failing rank, on every rank. Some of the bytes may be in the file then.
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
 * Reads this rank's data from the file. Collective. The arguments are those of `trib_write_all`; the bytes of the file's
 * extents fill the extents of memory. Several ranks may read the same bytes.
 *
 * Sets `*bytes`, unless `bytes` is NULL, to the number of this rank's bytes before the end of the file. Memory for bytes
 * beyond the end is not changed; holes in the file read as zeros.
 *
 * Errors: the error of the lowest failing rank, on every rank. The contents of memory are undefined then.
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
 * Like `trib_write_all`, with `file_extents` (NULL: no data) for the list of the file and `memory_extents` (NULL: bytes
 * contiguous from `buffer` on) for the list of memory. The call does not change them; they may be freed after it.
 */
trib_status trib_write_all_extents(trib_file *file,
                                   const trib_extents *file_extents,
                                   const trib_extents *memory_extents,
                                   const void *buffer,
                                   int64_t *bytes);

/**
 * Like `trib_read_all`, with `file_extents` (NULL: no data) for the list of the file and `memory_extents` (NULL: bytes
 * contiguous from `buffer` on) for the list of memory.
 */
trib_status trib_read_all_extents(trib_file *file,
                                  const trib_extents *file_extents,
                                  const trib_extents *memory_extents,
                                  void *buffer,
                                  int64_t *bytes);

/**
 * Creates an empty sequence; free it with `trib_extents_free`.
 */
trib_status trib_extents_create(trib_extents **extents);

/**
 * Appends `count` extents: `lengths[i]` bytes at `offsets[i]`. Both are 0 or more; offsets may be in any order. Extents of
 * length 0 are left out. O(count) time; memory for the irregular parts only. On an error nothing is appended.
 */
trib_status trib_extents_add_list(trib_extents *extents,
                                  int64_t count,
                                  const int64_t *offsets,
                                  const int64_t *lengths);

/**
 * Appends a run: `count` extents of `length` bytes, the first at `offset`, each next one `stride` bytes further. `stride`
 * may be negative. O(1) time and memory. On an error nothing is appended.
 */
trib_status trib_extents_add_run(trib_extents *extents,
                                 int64_t offset,
                                 int64_t length,
                                 int64_t stride,
                                 int64_t count);

/**
 * Appends a subarray of an array that begins at `offset`. The array has `dimensions` dimensions, the slowest first (the
 * order of C), and elements of `element` bytes. Its dimension d has `sizes[d]` elements; the subarray has `subsizes[d]` of
 * them from index `starts[d]` on. O(dimensions) time and memory. On an error nothing is appended.
 */
trib_status trib_extents_add_subarray(trib_extents *extents,
                                      int64_t offset,
                                      int64_t element,
                                      int dimensions,
                                      const int64_t *sizes,
                                      const int64_t *subsizes,
                                      const int64_t *starts);

/**
 * Returns the number of extents (adjoining extents of a run or subarray count as one) and their total bytes. `count` and
 * `bytes` may be NULL.
 */
trib_status trib_extents_total(const trib_extents *extents,
                               int64_t *count,
                               int64_t *bytes);

/**
 * Frees a sequence and sets `*extents` to NULL. Does nothing if `*extents` is NULL already.
 */
trib_status trib_extents_free(trib_extents **extents);

/**
 * Starts a collective write with the arguments of `trib_write_all`. Collective. The lists may be freed when this returns;
 * the memory must not be changed until the operation has ended.
 *
 * The operation advances only inside `trib_test` and `trib_wait`. Only one operation may be in flight on a file; until it
 * has ended, other calls on the file are errors. With several files, wait for them in the same order on all ranks, or
 * test them in turn.
 *
 * Errors: bad arguments on any rank are reported when the operation ends, on all ranks.
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
 * Starts a collective read with the arguments of `trib_read_all`, under the rules of `trib_start_write_all`. The memory
 * must not be touched until the operation has ended.
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
 * Starts a collective write with the arguments of `trib_write_all_extents`, under the rules of `trib_start_write_all`.
 */
trib_status trib_start_write_all_extents(trib_file *file,
                                         const trib_extents *file_extents,
                                         const trib_extents *memory_extents,
                                         const void *buffer);

/**
 * Starts a collective read with the arguments of `trib_read_all_extents`, under the rules of `trib_start_read_all`.
 */
trib_status trib_start_read_all_extents(trib_file *file,
                                        const trib_extents *file_extents,
                                        const trib_extents *memory_extents,
                                        void *buffer);

/**
 * Advances the operation in flight as far as possible without waiting. Sets `*done` to 1 if the operation has ended, with
 * success or with the error that is returned, and to 0 if not. When it has ended, sets `*bytes` (unless `bytes` is NULL)
 * as the blocking call does. Not collective, but every rank must complete the operation.
 *
 * Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
 */
trib_status trib_test(trib_file *file,
                      int *done,
                      int64_t *bytes);

/**
 * Completes the operation in flight. Sets `*bytes` as `trib_test` does. Every rank must complete the operation.
 *
 * Errors: those of the operation; TRIB_ERR_ARGUMENT when none is in flight.
 */
trib_status trib_wait(trib_file *file, int64_t *bytes);

/**
 * Writes `length` bytes of `buffer` at file offset `offset`. Not collective. Sets `*bytes`, unless `bytes` is NULL, to
 * the number of bytes written: `length`, or 0 on an error, after which some of the bytes may be in the file.
 */
trib_status trib_write_at(trib_file *file, int64_t offset, const void *buffer, int64_t length, int64_t *bytes);

/**
 * Reads `length` bytes at file offset `offset` into `buffer`. Not collective. Sets `*bytes`, unless `bytes` is NULL, to
 * the number of these bytes before the end of the file. The rest of the buffer is not changed.
 */
trib_status trib_read_at(trib_file *file, int64_t offset, void *buffer, int64_t length, int64_t *bytes);

/**
 * Checks a text of hints, "key=value;key=value...", before it is passed to `trib_open`, which ignores unknown keys, as MPI
 * requires. Needs no MPI. Not collective.
 *
 * Errors: TRIB_ERR_ARGUMENT for a part that is not "key=value"; TRIB_ERR_HINT for a value that is not allowed, and for a key that
 * no known library has. `trib_last_error_message` names the key, and a similar one that exists.
 */
trib_status trib_check_hints(const char *hints);

/**
 * Returns the number of hints, for `trib_hint_at`; 0 for a NULL file. Not collective.
 */
int64_t trib_hint_count(const trib_file *file);

/**
 * Returns the key and value of hint `index`, from 0 to `trib_hint_count` - 1. The value is the one in force: if the hint
 * leaves a choice, the choice that was made. Both texts live until the file is closed. Not collective.
 */
trib_status trib_hint_at(trib_file *file,
                         int64_t index,
                         const char **key,
                         const char **value);

/**
 * Returns the value of the hint `key`, as `trib_hint_at` does. Stores at most `size` bytes at `value`, with a terminating
 * 0; a longer text is cut. Sets `*length`, unless `length` is NULL, to the length of the whole text without the 0. Not
 * collective.
 *
 * Errors: TRIB_ERR_HINT for a key that is no hint's.
 */
trib_status trib_get_hint(trib_file *file,
                          const char *key,
                          char *value,
                          size_t size,
                          size_t *length);

/**
 * Returns the statistics of the last collective call that succeeded. Not collective.
 */
trib_status trib_get_statistics(trib_file *file, trib_statistics *statistics);

/**
 * Describes the file, its driver, ranks and aggregators, and the last collective call that succeeded, as one JSON object.
 * Stores at most `size` bytes at `text`, with a terminating 0; a longer text is cut. Sets `*length`, unless `length` is
 * NULL, to the length of the whole text without the 0. Not collective; the text is the same on all ranks. No operation
 * may be in flight.
 */
trib_status trib_report_json(trib_file *file,
                             char *text,
                             size_t size,
                             size_t *length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TRIBUTARY_H */
