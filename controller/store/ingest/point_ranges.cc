#include "controller/store/ingest/point_ranges.h"

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

// Asked at each delivery with points: a mirror may be turned on and off while the store is open.
Status PointRanges::write(Connection& connection) {
  if (ranges_.empty()) return {};
  if (RG_TRY(connection.integer("SELECT is_on FROM mirror_state")).value_or(0) == 1)
    for (const Range& range : ranges_)
      RG_TRY_OK(
          connection.execute("INSERT INTO mirror_outbox (source, key, last) VALUES (?1, ?2, ?3)",
                             kPointSource, range.first, range.last));
  ranges_.clear();
  return {};
}

}  // namespace railgauge::store
