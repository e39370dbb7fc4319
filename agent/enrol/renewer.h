// Renews an agent's certificate by itself, with the certificate in use, when a third of its life is
// left. The key stays, so that one file changes and each moment has a whole set; connections follow
// by ClientTls.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "agent/enrol/enrol_client.h"
#include "controller/trust/pem_files.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

// When a certificate is to be renewed: when a third of its life is left, and earlier by up to a
// twentieth of it, by its serial number, so that nodes that enrolled together do not come together.
// Unix seconds. Pure.
double renewal_time(const trust::Certificate& certificate);

// Seconds until the next try after so many failures in a row: 60 s, doubled up to an hour. Pure.
double renewal_pause(int failures);

// Renews now if it is time, with the lock of the files' folder (NodeFiles), and finishes what a
// killed `enroll` left there. Returns the new certificate's serial, "" if it was not time. Errors:
// those of the call, of files, kUnavailable while `enroll` has the lock, and kInternal for a
// certificate of another name or key.
Result<std::string> renew_if_due(const std::vector<EnrolServer>& servers,
                                 const trust::PemFiles& files, double now_unix);

// Controllers that are away, or whose ports are off, cost a line of the log at each try, and the
// node nothing until its certificate ends. Looks each minute, on a thread of its own. The
// destructor ends it, within a call's time at most.
class Renewer {
 public:
  Renewer(std::vector<EnrolServer> servers, trust::PemFiles files);
  ~Renewer();
  Renewer(const Renewer&) = delete;
  Renewer& operator=(const Renewer&) = delete;

 private:
  void run();

  const std::vector<EnrolServer> servers_;
  const trust::PemFiles files_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;  // with mutex_ held
  std::thread thread_;     // last: uses all above
};

}  // namespace railgauge::agent
