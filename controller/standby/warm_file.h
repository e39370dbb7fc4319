// The database of a controller that waits: the site's own, or a copy of the site that follows the
// archive. Not thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "controller/mirror/archive_rows.h"
#include "controller/mirror/pq/connection.h"
#include "controller/store/outbox/warm_copy.h"
#include "controller/store/sqlite/lock.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::standby {

// The relation of a database to a site of the archive.
enum class Kinship : std::uint8_t {
  kOwn,       // it is what the archive is the copy of, or neither has anything
  kCopy,      // it follows the archive, or can begin to: it has nothing
  kDeposed,   // it was the site's own; another controller has continued since
  kStranger,  // it is of another site
};

// A step of following.
struct Followed {
  bool is_whole = false;    // the copy has all that the archive had
  std::int64_t rows = 0;    // changes that came in
  std::string waits_for{};  // why it is not whole; ""
};

class WarmFile {
 public:
  // Opens or makes the database and locks it. Errors as Store::open().
  static Result<WarmFile> open(std::string path);

  Result<Kinship> kinship(const std::optional<mirror::ArchivedSite>& site);
  // The highest generation that the database knows.
  Result<std::int64_t> generation();
  // Keeps a deposed database beside the new one, as PATH.deposed-GENERATION, and begins with none.
  Status set_aside();
  // Brings the copy as far as the archive, without what retention took from the site's database.
  // `is_over` ends a long copy with kCancelled.
  Result<Followed> follow(pq::Connection& archive, const std::string& site_name,
                          const std::function<bool()>& is_over);
  // Makes the database that of the active controller with this lease. A copy must be whole.
  Status take_over(pq::Connection& archive, const std::string& site_name, std::int64_t generation);
  // Gives file and lock back, for the store to open.
  void close();

 private:
  WarmFile(std::string path, store::File lock, store::Connection connection)
      : path_(std::move(path)), lock_(std::move(lock)), connection_(std::move(connection)) {}
  // Where a deposed database is kept: a name that nothing has.
  [[nodiscard]] std::string deposed_path(std::int64_t generation) const;
  // Removes the database and makes an empty one.
  Status begin_anew();
  Status copy_all(pq::Connection& archive, const mirror::ArchivedSite& site,
                  const std::function<bool()>& is_over);
  Result<std::int64_t> copy_table(pq::Connection& archive, const mirror::ArchivedSite& site,
                                  std::size_t table, const mirror::PrunedRuns& left_out,
                                  const std::function<bool()>& is_over);
  // Drops tasks and points of runs whose points retention took.
  Status drop_pruned(const std::function<bool()>& is_over);
  Result<std::int64_t> take_changes(pq::Connection& archive, const mirror::ArchivedSite& site,
                                    std::int64_t after);
  // Runs `work` in a transaction.
  Status transact(const std::function<Status(store::Connection&)>& work);

  std::string path_;
  std::optional<store::File> lock_;
  std::optional<store::Connection> connection_;
  bool has_read_runs_ =
      false;  // in this process, which may know columns that an older one left out
  bool may_have_pruned_ = true;  // a run has changed since the last look for pruned ones
};

}  // namespace railgauge::standby
