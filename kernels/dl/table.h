// Shared by every table of a vendor library: loaded at the first use that succeeds, kept for the
// life of the process, replaceable by a file that an environment variable names.
#pragma once

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/core/base/result.h"

namespace railgauge {

// Table is default constructible and movable. One static object a library. Thread safe.
template <class Table>
// Loads one library's table once. Table is default constructible and movable. One static object for
// each library. Thread safe.
class TableLoader {
 public:
  // Opens the library `name` and fills a table with its functions.
  using Bind = Result<Table> (*)(const std::string& name);

  // Binds `library`, or what `variable` names. A failure is tried again at the next call.
  Result<const Table*> load(Bind bind, const char* library, const char* variable) {
    const std::lock_guard lock(mutex_);
    if (table_ == nullptr) {
      const char* other = std::getenv(variable);
      const bool chosen = other != nullptr && *other != '\0';
      Table bound = RG_TRY(bind(chosen ? other : library));
      // Lives as long as the process, as the library does.
      table_ = new Table(std::move(bound));
    }
    return table_.load();
  }
  // After load() succeeded; CHECKs that it did. For releasing handles.
  [[nodiscard]] const Table& loaded() const {
    const Table* table = table_;
    RG_CHECK(table != nullptr);
    return *table;
  }

 private:
  // Serialises loading; readers use the atomic pointer alone.
  std::mutex mutex_;
  std::atomic<const Table*> table_{nullptr};
};

}  // namespace railgauge
