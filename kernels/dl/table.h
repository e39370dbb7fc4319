// Shared parts of the tables of vendor libraries: each table is loaded at the first successful use,
// kept for the life of the process, and replaceable by a file that an environment variable names.
#pragma once

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/core/base/result.h"
#include "kernels/dl/library.h"

// For the lists of a library's functions, whose rows begin with slot and symbol: fill the slot of
// `table` from `library`. For a missing function, RAILGAUGE_BIND returns the error from the
// enclosing function; RAILGAUGE_FIND stores nullptr.
#define RAILGAUGE_BIND(slot, symbol, ...) \
  table.slot = RG_TRY(library.bind<decltype(table.slot)>(#symbol));
#define RAILGAUGE_FIND(slot, symbol, ...) table.slot = library.find<decltype(table.slot)>(#symbol);

namespace railgauge {

// Fills in the facts that every table has of its library: the file, the release in the file's name,
// and whether it exports the fake's `marker`.
template <class Table>
void describe_library(const Library& library, const char* marker, Table& table) {
  table.path = library.path();
  table.version = library.version();
  table.synthetic = library.find<void (*)()>(marker) != nullptr;
}

// Loads one library's table once; use one static object for each library. Table is default
// constructible and movable. Thread safe.
template <class Table>
class TableLoader {
 public:
  // Opens the library `name` and fills a table with its functions.
  using Bind = Result<Table> (*)(const std::string& name);

  // Binds `library`, or the file that `variable` names. A failed load is retried at the next call.
  Result<const Table*> load(Bind bind, const char* library, const char* variable) {
    const std::lock_guard lock(mutex_);
    if (table_ == nullptr) {
      const char* other = std::getenv(variable);
      const bool chosen = other != nullptr && *other != '\0';
      Table bound = RG_TRY(bind(chosen ? other : library));
      // Lives as long as the process, like the library.
      table_ = new Table(std::move(bound));
    }
    return table_.load();
  }
  // Returns the table for releasing handles; CHECKs that load() succeeded before.
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
