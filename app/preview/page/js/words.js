// What a workload gets, in a few words.

/** "1 card · 4000 MiB · 30 % cores", for the list; several containers are parted by a plus. */
export function headline(item) {
  const claims = item.containers
    .flatMap((container) => container.claims)
    .filter((claim) => claim.sharesClaimOf === null);
  return claims.length === 0 ? "nothing is claimed" : claims.map(granted).join(" + ");
}

function granted(claim) {
  const mig = claim.migProfile !== null;
  const kind = mig ? `MIG ${claim.migProfile}` : claim.share ? "share" : "card";
  const count = `${claim.devices} ${kind}${claim.devices === 1 || mig ? "" : "s"}`;
  return [count, memory(claim), claim.cores ? `${claim.cores} % cores` : null].filter(Boolean).join(" · ");
}

function memory(claim) {
  if (claim.migProfile !== null) return null;
  if (claim.memoryMiB !== null) return `${claim.memoryMiB} MiB`;
  if (claim.memoryPercentage !== null) return `${claim.memoryPercentage} % memory`;
  return claim.share ? null : "whole";
}
