// An index with all figures of a history for each past month of points, so that the points of one
// series are read from few pages, wherever they arrived (decision 190).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "controller/mirror/pq/connection.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

// Makes the index of the oldest month that was over two days before `now` (unix seconds) and has
// none. Returns the month's table; "": there is nothing to do, or another controller of the archive
// is at it. Rows are read and written meanwhile, for minutes. One that a crash left unfinished is
// made anew. `database` ends afterwards: it keeps a lock.
Result<std::string> index_a_month(pq::Connection& database, double now);

// Does so from time to time on a thread of its own.
class MonthIndexer {
 public:
  explicit MonthIndexer(std::string url);
  // Ends the wait under way; the server may complete its statement.
  ~MonthIndexer();
  MonthIndexer(const MonthIndexer&) = delete;
  MonthIndexer& operator=(const MonthIndexer&) = delete;

 private:
  void work();
  // Seconds until the next look.
  double look();

  const std::string url_;
  std::atomic<bool> ending_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;  // last: uses all above
};

}  // namespace railgauge::mirror
