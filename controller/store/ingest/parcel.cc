#include "controller/store/ingest/parcel.h"

#include <bit>
#include <string_view>
#include <utility>

#include "controller/store/ingest/record_check.h"
#include "controller/store/rows/rows.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/compress.h"

namespace railgauge::store {
namespace {

void pack_point(const Point& point, ReadyRecord& ready) {
  if (!point.facts().empty())
    ready.point_facts = json_of(TextMap{point.facts().begin(), point.facts().end()});
  if (point.has_histogram()) ready.histogram = compress(point.histogram().SerializeAsString());
  if (point.samples().empty()) return;
  static_assert(std::endian::native == std::endian::little);
  const std::string_view samples(reinterpret_cast<const char*>(point.samples().data()),
                                 static_cast<std::size_t>(point.samples_size()) * sizeof(double));
  ready.samples = compress(samples);
}

}  // namespace

ReadyRecord make_ready(Record record) {
  ReadyRecord ready{.record = std::move(record)};
  ready.fault = fault_of(ready.record);
  if (!ready.fault && ready.record.has_point()) pack_point(ready.record.point(), ready);
  return ready;
}

Parcel pack(std::vector<Record> records) {
  Parcel parcel;
  parcel.records.reserve(records.size());
  for (Record& record : records) {
    const ReadyRecord& ready = parcel.records.emplace_back(make_ready(std::move(record)));
    parcel.bytes += ready.record.ByteSizeLong() + (ready.histogram ? ready.histogram->size() : 0) +
                    (ready.samples ? ready.samples->size() : 0);
  }
  return parcel;
}

}  // namespace railgauge::store
