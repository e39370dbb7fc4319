// Makes certificates from what the store has. Nothing of them is stored: as long as the store keeps
// the run's data, the same run gives the same digest. Called on worker threads; thread safe.
#pragma once

#include <string>

#include "controller/api/judge.pb.h"
#include "controller/certificate/certificate.pb.h"
#include "controller/fleet/leaf_map.h"
#include "controller/store/store.h"

namespace railgauge::certificate {

// The content for a run that has ended. kNotFound: no such run. kFailedPrecondition: it has not
// ended, or it waits to be judged.
// `leaves`: as for judge_run(); a proof is judged with it again.
Result<Certificate> certificate_of_run(const store::Store& store, const std::string& run_id,
                                       const LeafSource& leaves = {});

// The content for a judged upgrade. kNotFound: no such upgrade. kFailedPrecondition: it is not
// judged.
Result<Certificate> certificate_of_upgrade(const store::Store& store,
                                           const std::string& upgrade_id);

class Certifier {
 public:
  // `store` outlives it. `key_pem`: the key that signs; "": certificates are not signed. `leaves`:
  // of nodes that do not report theirs.
  Certifier(const store::Store& store, std::string key_pem, LeafSource leaves = {})
      : store_(store), key_pem_(std::move(key_pem)), leaves_(std::move(leaves)) {}

  // The certificate of a run or an upgrade by its id; "" is the newest ended run. Errors: those
  // above, as kInvalidArgument where the subject is not there; trust::sign()'s.
  [[nodiscard]] Result<api::CertificateDocument> certify(const std::string& subject) const;

 private:
  const store::Store& store_;
  const std::string key_pem_;
  const LeafSource leaves_;
};

}  // namespace railgauge::certificate
