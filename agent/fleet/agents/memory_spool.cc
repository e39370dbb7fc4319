#include "agent/fleet/agents/memory_spool.h"

#include <algorithm>
#include <utility>

namespace railgauge::fleet {

void MemorySpool::append(std::vector<Record> records) {
  for (Record& record : records) {
    api::SpooledRecord& spooled = records_.emplace_back();
    spooled.set_spool_id(++last_id_);
    *spooled.mutable_record() = std::move(record);
  }
}

void MemorySpool::acknowledge(std::uint64_t through) {
  acknowledged_ = std::max(acknowledged_, std::min(through, last_id_));
  while (records_.size() > waiting() + kMaxKept) records_.pop_front();
}

std::vector<api::SpooledRecord> MemorySpool::read(std::uint64_t after, std::size_t most) const {
  std::vector<api::SpooledRecord> out;
  for (const api::SpooledRecord& record : records_) {
    if (out.size() == most) break;
    if (record.spool_id() > after) out.push_back(record);
  }
  return out;
}

std::vector<RecordKey> MemorySpool::points_through(std::uint64_t through) const {
  std::vector<RecordKey> out;
  for (const api::SpooledRecord& record : records_) {
    if (record.spool_id() > through) break;
    if (record.spool_id() > acknowledged_ && record.record().has_point())
      out.push_back(record.record().key());
  }
  return out;
}

}  // namespace railgauge::fleet
