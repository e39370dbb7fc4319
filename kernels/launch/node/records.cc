// The one connection of MPI's rank 0.
#include "kernels/launch/node/records.h"

#include <sys/socket.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "kernels/launch/node/launch_service.h"
#include "kernels/launch/node/mpi_process.h"

namespace railgauge {

// Reading ends at the first frame that is no record: the rest of the stream cannot be trusted.
std::vector<Record> MpiRecords::read() {
  if (listener_) {
    connection_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    // Records of another user are refused; the next connection is accepted by the next call.
    if (connection_ && !is_own_user(connection_.get())) connection_.reset();
    if (connection_) listener_.reset();  // one rank 0, one connection
  }
  std::string bytes;
  read_what_is_there(connection_, bytes, std::numeric_limits<std::size_t>::max());
  frames_.feed(bytes);
  std::vector<Record> out;
  for (;;) {
    const auto next = frames_.next();
    Record record;
    if (!next || !*next || !record.ParseFromString(**next)) return out;
    out.push_back(std::move(record));
  }
}

void MpiRecords::add_to(std::vector<pollfd>& set) const {
  for (const Fd* fd : {&listener_, &connection_})
    if (*fd) set.push_back({fd->get(), POLLIN, 0});
}

}  // namespace railgauge
