// One connection to PostgreSQL. Every wait has a deadline and ends when the owner stops. Errors are
// one line: address, act, cause.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/mirror/pq/libpq.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::pq {

// Closes a connection.
struct ConnectionTraits {
  using Type = RawConnection*;
  static Type empty() { return nullptr; }
  static void release(Type raw);
};
// Frees a result.
struct ResultTraits {
  using Type = RawResult*;
  static Type empty() { return nullptr; }
  static void release(Type raw);
};

// Rows of an answer in text form.
class Answer {
 public:
  Answer(const Libpq& library, Handle<ResultTraits> result)
      : library_(&library), result_(std::move(result)) {}
  [[nodiscard]] int rows() const { return library_->rows(result_.get()); }
  [[nodiscard]] int columns() const { return library_->columns(result_.get()); }
  [[nodiscard]] std::string column_name(int column) const;
  // The type's number in PostgreSQL's catalog.
  [[nodiscard]] unsigned int column_type(int column) const;
  [[nodiscard]] bool is_null(int row, int column) const;
  // Empty for NULL. Valid as long as the answer.
  [[nodiscard]] std::string_view text(int row, int column) const;
  // 0 for NULL and for text that is no number; so is real().
  [[nodiscard]] std::int64_t integer(int row, int column) const;
  [[nodiscard]] double real(int row, int column) const;
  [[nodiscard]] std::optional<double> optional_real(int row, int column) const;
  // The bytes of a bytea column.
  [[nodiscard]] std::string bytes(int row, int column) const;
  // Rows that the statement changed.
  [[nodiscard]] std::int64_t changed() const;

 private:
  const Libpq* library_;
  Handle<ResultTraits> result_;
};

// How to connect, and how long to wait.
struct ConnectOptions {
  std::string url{};          // url.h
  std::string application{};  // for people who look at the server
  double connect_seconds = 10;
  double answer_seconds = 60;       // of one statement, or one piece of a copy
  std::function<bool()> is_over{};  // ends every wait with kCancelled; another thread may change it
};

// Values of one statement as texts; absent is NULL.
using Values = std::vector<std::optional<std::string>>;

// Not thread safe. After an error of kUnavailable or kDeadlineExceeded it is of no more use.
class Connection {
 public:
  // Errors: kNotFound (no libpq), kUnavailable, kPermissionDenied, kDeadlineExceeded, kCancelled.
  static Result<std::unique_ptr<Connection>> open(ConnectOptions options);

  // Runs one statement with values for $1, $2, ...
  Result<Answer> query(const std::string& sql, const Values& values = {});
  // Runs one statement and ignores its rows.
  Status execute(const std::string& sql, const Values& values = {});
  // Runs many statements without values; returns the answer of the last one.
  Result<Answer> script(const std::string& sql);
  // Runs "COPY ... FROM STDIN" with `data`.
  Status copy_in(const std::string& sql, std::string_view data);
  // Five letters of PostgreSQL's error code of the last failure; "" where it gave none.
  [[nodiscard]] const std::string& last_state() const { return last_state_; }

 private:
  Connection(const Libpq& library, ConnectOptions options, Handle<ConnectionTraits> raw)
      : library_(&library), options_(std::move(options)), raw_(std::move(raw)) {}
  // On the thread that connects.
  static Result<std::unique_ptr<Connection>> open_here(const Libpq& library,
                                                       ConnectOptions options);
  // Polls until the server took the connection.
  Status connect();
  // Waits until the socket is readable, or also writable; kDeadlineExceeded, kCancelled.
  Status wait(bool for_writing, double deadline_ns);
  // Writes all that is queued.
  Status flush(double deadline_ns);
  // The next result; empty at the end of the statement.
  Result<Handle<ResultTraits>> next(double deadline_ns);
  // The last result of the statement, or its first error.
  Result<Handle<ResultTraits>> finish(double deadline_ns);
  // The server's words as an error; its code by the SQLSTATE.
  Error error(std::string_view act, RawResult* result);
  // The connection's own words: it is of no more use.
  Error lost(std::string_view act);

  const Libpq* library_;
  ConnectOptions options_;
  Handle<ConnectionTraits> raw_;
  std::string last_state_{};
};

}  // namespace railgauge::pq
