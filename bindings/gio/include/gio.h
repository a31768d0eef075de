/* The functions of GIO on Tributary: the interface of GIO 1.0, with MPI. A program that is compiled against GIO's own gio.h
 * does not need this file.
 *
 * Functions return GIO_NOERR or a negative code; those of type MPI_Offset return a number of bytes, or a code. All ranks of
 * the file's communicator must call a collective function, in the same order on each rank, and all get the same code. The
 * one exception is an invalid handle: only the calling rank gets that error. docs/reference/gio.md in Tributary's repository says how
 * to link, and lists the hints. */
#ifndef H_GIO
#define H_GIO

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GIO_VERSION "1.0.0"
#define GIO_VERSION_MAJOR 1
#define GIO_VERSION_MINOR 0
#define GIO_VERSION_SUB 0
#define GIO_VERSION_PRE ""

#define GIO_MPI_ENABLED 1
#define GIO_DEBUG_MODE 0
#define GIO_PROFILING_MODE 0
#define GIO_THREAD_SAFE 0

#define GIO_NOERR 0
#define GIO_EEXIST (-35)                /* the file exists already */
#define GIO_EINVAL (-36)                /* invalid argument */
#define GIO_EPERM (-37)                 /* write to a file opened for reading only */
#define GIO_ENOMEM (-61)                /* out of memory */
#define GIO_EACCESS (-77)               /* permission denied */
#define GIO_EFILE (-204)                /* an operation on the file failed */
#define GIO_ENEGATIVECNT (-210)         /* a length below 0 */
#define GIO_ENOENT (-220)               /* no such file */
#define GIO_EINTOVERFLOW (-221)         /* never returned by Tributary */
#define GIO_ENOTENABLED (-222)          /* not enabled in this build */
#define GIO_EBAD_FILE (-223)            /* bad file name */
#define GIO_ENO_SPACE (-224)            /* no space left on the device */
#define GIO_EQUOTA (-225)               /* quota exceeded */
#define GIO_EFSTYPE (-241)              /* never returned by Tributary */
#define GIO_EMULTIDEFINE_AMODE (-251)   /* the ranks gave different access modes */
#define GIO_EMULTIDEFINE_FNC_ARGS (-269) /* the ranks gave different arguments */
#define GIO_EMULTIDEFINE_HINTS (-274)   /* never returned by Tributary: the first rank's hints count */
#define GIO_EFILEVIEW (-275)            /* offsets in the file do not ascend, or overlap */

typedef struct GIOI_File *GIO_File;
#define GIO_FILE_NULL ((GIO_File)0)

/* Version of the library; description and name of a code. The caller must not free the texts. */
const char *GIO_inq_libvers(void);
const char *GIO_strerror(int err);
const char *GIO_strerrno(int err);

/* Opens a file on all ranks of a communicator. Collective. `amode` has flags of open(2): O_RDONLY, O_WRONLY or O_RDWR, with
 * O_CREAT, O_EXCL, O_TRUNC, and must be the same on all ranks. Name and hints are those of the first rank. */
int GIO_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, GIO_File *fh);

/* Closes a file and sets *fh to GIO_FILE_NULL. Collective. */
int GIO_close(GIO_File *fh);

/* Brings this rank's part of the written data to stable storage. Not collective: all data is stored once all ranks have
 * called it. */
int GIO_sync(GIO_File fh);

/* Deletes a file. Not collective. */
int GIO_delete(const char *filename);

/* Sets the size of the file in bytes: truncates it, or extends it with zeros. Collective. */
int GIO_set_size(GIO_File fh, MPI_Offset size);

/* Returns the size of the file in bytes, as this rank sees it. Not collective. */
int GIO_get_size(GIO_File fh, MPI_Offset *size);

/* Returns the hints in force; the caller frees the info. Not collective. */
int GIO_get_info(GIO_File fh, MPI_Info *info_used);

/* Writes and reads. Those that end with _all are collective; a rank without data calls them with counts of 0.
 *
 * Pair i of the file is file_lens[i] bytes at file_offs[i]; offsets ascend and pairs do not overlap. Pair j of memory is
 * buf_lens[j] bytes at buf + buf_offs[j], in any order; offsets may be negative. The bytes of memory, in the order of its
 * list, are those of the file; both lists have the same number of bytes. Lists and memory may be freed after the call.
 *
 * A write returns this rank's number of bytes. A read returns the number of them before the end of the file; memory for
 * bytes beyond the end is not changed. */
MPI_Offset GIO_write(GIO_File fh, const void *buf, MPI_Offset file_npairs, const MPI_Offset *file_offs,
                     const MPI_Offset *file_lens, MPI_Offset buf_npairs, const MPI_Offset *buf_offs,
                     const MPI_Offset *buf_lens);
MPI_Offset GIO_write_all(GIO_File fh, const void *buf, MPI_Offset file_npairs, const MPI_Offset *file_offs,
                         const MPI_Offset *file_lens, MPI_Offset buf_npairs, const MPI_Offset *buf_offs,
                         const MPI_Offset *buf_lens);
MPI_Offset GIO_read(GIO_File fh, void *buf, MPI_Offset file_npairs, const MPI_Offset *file_offs,
                    const MPI_Offset *file_lens, MPI_Offset buf_npairs, const MPI_Offset *buf_offs,
                    const MPI_Offset *buf_lens);
MPI_Offset GIO_read_all(GIO_File fh, void *buf, MPI_Offset file_npairs, const MPI_Offset *file_offs,
                        const MPI_Offset *file_lens, MPI_Offset buf_npairs, const MPI_Offset *buf_offs,
                        const MPI_Offset *buf_lens);

/* Makes the list of a subarray: a pair for each row. The array has elements of `esize` bytes and begins at `disp`. The
 * caller must free() both arrays. Any number of dimensions; with 0, nothing happens. Not collective. */
int GIO_flatten_subarray(int ndims, int esize, MPI_Offset disp, const int *sizes, const int *subsizes, const int *starts,
                         MPI_Offset *npairs, MPI_Offset **offs, MPI_Offset **lens);

/* Memory statistics: always GIO_ENOTENABLED. */
int GIO_inq_malloc_size(MPI_Offset *size);
int GIO_inq_malloc_max_size(MPI_Offset *size);
int GIO_inq_malloc_list(void);

#ifdef __cplusplus
}
#endif

#endif
