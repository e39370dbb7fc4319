// The functions of PostgreSQL's libpq that we call, loaded at run time: a controller without a
// mirror needs no libpq. libpq_abi_test.cc compares the declarations with the vendor's header.
#pragma once

#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::pq {

struct RawConnection;  // PGconn
struct RawResult;      // PGresult
struct RawCancel;      // PGcancel

// ConnStatusType, PostgresPollingStatusType and ExecStatusType, as far as they matter here.
inline constexpr int kConnectionOk = 0;
inline constexpr int kPollingFailed = 0;
inline constexpr int kPollingReading = 1;
inline constexpr int kPollingWriting = 2;
inline constexpr int kPollingOk = 3;
inline constexpr int kResultCommandOk = 1;
inline constexpr int kResultTuplesOk = 2;
inline constexpr int kResultCopyIn = 4;
inline constexpr int kResultSingleTuple = 9;
// PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
inline constexpr int kFieldState = 'C';
inline constexpr int kFieldMessage = 'M';

// Read-only once loaded.
struct Libpq {
  // PQconnectStartParams
  RawConnection* (*connect_start)(const char* const* keywords, const char* const* values,
                                  // PQconnectPoll: the next step of a connect that does not wait.
                                  int expand_dbname) = nullptr;
  int (*connect_poll)(RawConnection* connection) = nullptr;
  // PQfinish: closes and frees it.
  void (*finish)(RawConnection* connection) = nullptr;
  // PQstatus: whether it is connected.
  int (*status)(const RawConnection* connection) = nullptr;
  // PQerrorMessage: of the last failure, some lines.
  char* (*error_message)(const RawConnection* connection) = nullptr;
  // PQsocket: to poll; -1 without a connection.
  int (*socket)(const RawConnection* connection) = nullptr;
  // PQsetnonblocking: from then on no call waits for the server.
  int (*set_nonblocking)(RawConnection* connection, int on) = nullptr;
  // PQsendQueryParams: one statement with values for $1, $2, ...
  int (*send_query)(RawConnection* connection, const char* text, int count,
                    const unsigned int* types, const char* const* values, const int* lengths,
                    const int* formats, int result_format) = nullptr;
  // PQsendQuery: any number of statements without values.
  int (*send_script)(RawConnection* connection, const char* text) = nullptr;
  // PQflush: 1: more is to be written.
  int (*flush)(RawConnection* connection) = nullptr;
  // PQconsumeInput: reads what came; 0: the connection is lost.
  int (*consume_input)(RawConnection* connection) = nullptr;
  // PQisBusy: whether get_result() would wait.
  int (*is_busy)(RawConnection* connection) = nullptr;
  // PQgetResult: nullptr at the end of the statements.
  RawResult* (*get_result)(RawConnection* connection) = nullptr;
  // PQputCopyData, PQputCopyEnd: 0: the queue is full, flush() makes room.
  int (*put_copy_data)(RawConnection* connection, const char* bytes, int size) = nullptr;
  int (*put_copy_end)(RawConnection* connection, const char* error) = nullptr;
  // PQresultStatus: rows, a finished command, a copy that begins, or an error.
  int (*result_status)(const RawResult* result) = nullptr;
  // PQresultErrorField: nullptr where the server gave none.
  char* (*result_field)(const RawResult* result, int field) = nullptr;
  // PQresultErrorMessage: the whole message.
  char* (*result_error)(const RawResult* result) = nullptr;
  // PQntuples: rows of an answer.
  int (*rows)(const RawResult* result) = nullptr;
  // PQnfields: columns of an answer.
  int (*columns)(const RawResult* result) = nullptr;
  // PQfname: as the statement calls the column.
  char* (*column_name)(const RawResult* result, int column) = nullptr;
  // PQftype: number of the type in the server's catalog.
  unsigned int (*column_type)(const RawResult* result, int column) = nullptr;
  // PQgetisnull: 1: the value is NULL.
  int (*is_null)(const RawResult* result, int row, int column) = nullptr;
  // PQgetvalue: its text, valid as long as the result.
  char* (*value)(const RawResult* result, int row, int column) = nullptr;
  // PQgetlength: its bytes, without the zero behind them.
  int (*length)(const RawResult* result, int row, int column) = nullptr;
  // PQcmdTuples: number of changed rows as a text.
  char* (*changed)(RawResult* result) = nullptr;
  // PQclear: frees the result.
  void (*clear)(RawResult* result) = nullptr;

  std::string path;     // the file that was loaded
  std::string version;  // from its name
  bool synthetic = false;
};

// The name by which the loader finds the library.
inline constexpr const char* kLibpq = "libpq.so.5";
// Names another file to load instead.
inline constexpr const char* kLibpqVariable = "RAILGAUGE_LIBPQ";

// Fills a table from the library `name`. kNotFound: absent; kUnimplemented: a function is missing.
Result<Libpq> bind_libpq(const std::string& name);

// Returns the process's table, loaded at the first successful call. Errors as bind_libpq(). Thread
// safe.
Result<const Libpq*> load_libpq();

}  // namespace railgauge::pq
