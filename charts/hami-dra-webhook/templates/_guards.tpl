{{/* A YAML list of what is wrong with the values, the cluster or the namespace. */}}
{{- define "hami-dra-webhook.problems" -}}
{{- $found := list -}}

{{- if has .Release.Namespace (list "kube-system" "kube-node-lease") -}}
{{- $found = append $found (printf "the namespace is %s, whose pods the webhook must not touch: install into one of its own (--namespace hami-dra-webhook --create-namespace)" .Release.Namespace) -}}
{{- end -}}

{{- $name := include "hami-dra-webhook.webhookConfiguration" . -}}
{{- with lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" $name -}}
{{- $owner := default dict .metadata.annotations -}}
{{- $release := index $owner "meta.helm.sh/release-name" -}}
{{- $namespace := index $owner "meta.helm.sh/release-namespace" -}}
{{- if not $release -}}
{{- $found = append $found (printf "MutatingWebhookConfiguration %s exists and belongs to no Helm release: remove it (kubectl delete mutatingwebhookconfiguration %s)" $name $name) -}}
{{- else if or (ne $release $.Release.Name) (ne $namespace $.Release.Namespace) -}}
{{- $found = append $found (printf "release %s in namespace %s serves this cluster already, and there can be one only: upgrade that one, or uninstall it first" $release $namespace) -}}
{{- end -}}
{{- end -}}

{{- $test := .Values.helmTest.namespace -}}
{{- if has $test (list .Release.Namespace "default" "kube-system" "kube-public" "kube-node-lease") -}}
{{- $found = append $found (printf "helmTest.namespace is %s, but `helm test` makes that namespace and removes it with all that is in it: give the name of one that does not exist" $test) -}}
{{- else if has $test .Values.webhook.excludedNamespaces -}}
{{- $found = append $found (printf "helmTest.namespace is %s, which webhook.excludedNamespaces keeps from opting in: give another name" $test) -}}
{{- end -}}
{{- with lookup "v1" "Namespace" "" $test -}}
{{- $labels := default dict .metadata.labels -}}
{{- $ours := include "hami-dra-webhook.labels" $ | fromYaml -}}
{{- $marks := pick $ours "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/managed-by" -}}
{{- if ne (toJson (merge $marks $labels)) (toJson $labels) -}}
{{- $found = append $found (printf "helmTest.namespace is %s, which exists, and `helm test` did not make it: give the name of one that does not exist" $test) -}}
{{- end -}}
{{- end -}}

{{- $fullname := include "hami-dra-webhook.fullname" . -}}
{{- /* RelaxedServiceNameValidation is on from 1.36. */ -}}
{{- $first := semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version | ternary "a-z0-9" "a-z" -}}
{{- if not (regexMatch (printf "^[%s]([-a-z0-9]*[a-z0-9])?$" $first) $fullname) -}}
{{- $found = append $found (printf "the name of the objects would be %s, which no Service can have: give letters, digits and -, before Kubernetes 1.36 a letter first, in fullnameOverride" $fullname) -}}
{{- end -}}

{{- $labels := include "hami-dra-webhook.labels" . | fromYaml -}}
{{- $monitoring := .Values.monitoring -}}
{{- range list
  (list "podLabels" .Values.podLabels (include "hami-dra-webhook.podLabels" . | fromYaml))
  (list "podAnnotations" .Values.podAnnotations (dict "checksum/settings" ""))
  (list "monitoring.serviceMonitor.labels" $monitoring.serviceMonitor.labels $labels)
  (list "monitoring.prometheusRule.labels" $monitoring.prometheusRule.labels $labels)
  (list "monitoring.dashboard.labels" $monitoring.dashboard.labels $labels) -}}
{{- $value := first . -}}
{{- $ours := last . -}}
{{- range $key, $_ := index . 1 -}}
{{- if hasKey $ours $key -}}
{{- $found = append $found (printf "%s has %s, which this chart sets itself: leave it out" $value $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- $limits := .Values.resources.limits -}}
{{- range $resource, $request := .Values.resources.requests -}}
{{- $limit := get $limits $resource -}}
{{- if and (hasKey $limits $resource) (gt (float64 (include "hami-dra-webhook.quantity" $request)) (float64 (include "hami-dra-webhook.quantity" $limit))) -}}
{{- $found = append $found (printf "resources.requests.%s (%v) is above resources.limits.%s (%v): raise the limit, or lower the request" $resource $request $resource $limit) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.settings.preview.enabled (hasKey $limits "memory") -}}
{{- $previewMiB := .Values.settings.preview.maxMemoryMiB -}}
{{- $neededMiB := add $previewMiB (include "hami-dra-webhook.besidePreviewMiB" .) -}}
{{- if lt (float64 (include "hami-dra-webhook.quantity" $limits.memory)) (mulf $neededMiB 0x1p20) -}}
{{- $found = append $found (printf "resources.limits.memory (%v) does not hold what settings.preview.maxMemoryMiB (%v) needs beside the reviews: raise the limit to %dMi, lower that value, or set settings.preview.enabled to false" $limits.memory $previewMiB $neededMiB) -}}
{{- end -}}
{{- end -}}

{{- $certificates := .Values.certificates -}}
{{- $provided := $certificates.provided -}}
{{- if eq $certificates.mode "provided" -}}
{{- if not $provided.secretName -}}
{{- $found = append $found "certificates.mode is provided, but certificates.provided.secretName is empty: name the TLS Secret" -}}
{{- end -}}
{{- if not (contains "-----BEGIN CERTIFICATE-----" $provided.caBundle) -}}
{{- $found = append $found "certificates.mode is provided, but certificates.provided.caBundle holds no PEM certificate: give the CA (--set-file certificates.provided.caBundle=ca.crt)" -}}
{{- end -}}
{{- /* On an upgrade API servers trust the new CA at once, while new replicas wait for their Secret. Looked for only where there is a
cluster, which shows by what the release before has made. */ -}}
{{- if and $provided.secretName .Release.IsUpgrade (lookup "v1" "ConfigMap" .Release.Namespace (include "hami-dra-webhook.fullname" .)) -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace $provided.secretName -}}
{{- if not $secret -}}
{{- $found = append $found (printf "certificates.provided.secretName is %s, and there is no such Secret in namespace %s: make it first, no new replica can start without it" $provided.secretName .Release.Namespace) -}}
{{- else -}}
{{- range list "tls.crt" "tls.key" -}}
{{- if not (hasKey (default dict $secret.data) .) -}}
{{- $found = append $found (printf "certificates.provided.secretName is %s, and that Secret has no %s: make it of type kubernetes.io/tls" $provided.secretName .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else if or $provided.secretName $provided.caBundle -}}
{{- $found = append $found (printf "certificates.provided is set, but certificates.mode is %s: set the mode to provided, or leave it empty" $certificates.mode) -}}
{{- end -}}
{{- if lt (include "hami-dra-webhook.seconds" $certificates.certManager.duration | int) 3600 -}}
{{- $found = append $found (printf "certificates.certManager.duration is %s: cert-manager makes no certificate for less than an hour" $certificates.certManager.duration) -}}
{{- end -}}
{{- if and $certificates.certManager.issuerRef (ne $certificates.mode "cert-manager") -}}
{{- $found = append $found (printf "certificates.certManager.issuerRef is set, but certificates.mode is %s: set the mode to cert-manager, or leave it empty" $certificates.mode) -}}
{{- end -}}

{{- $names := .Values.settings.resourceNames -}}
{{- $seen := dict -}}
{{- range $key := list "count" "memory" "memoryPercentage" "cores" "priority" -}}
{{- $resource := index $names $key -}}
{{- with index $seen $resource -}}
{{- $found = append $found (printf "settings.resourceNames.%s and .%s are both %s: each needs a name of its own" . $key $resource) -}}
{{- end -}}
{{- $_ := set $seen $resource $key -}}
{{- end -}}
{{- if not (regexMatch "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[-A-Za-z0-9_.]*$" $names.migPrefix) -}}
{{- $found = append $found (printf "settings.resourceNames.migPrefix is %q: give a domain and the start of a name, as in nvidia.com/mig-" $names.migPrefix) -}}
{{- end -}}
{{- if not (regexMatch "^[.][-A-Za-z0-9_.]*[A-Za-z0-9]$" $names.sharedSuffix) -}}
{{- $found = append $found (printf "settings.resourceNames.sharedSuffix is %q: start it with a dot, as in .shared" $names.sharedSuffix) -}}
{{- end -}}

{{- $timeout := .Values.settings.cluster.requestTimeoutSeconds -}}
{{- if ge (float64 $timeout) (float64 .Values.webhook.timeoutSeconds) -}}
{{- $found = append $found (printf "settings.cluster.requestTimeoutSeconds (%v) is not below webhook.timeoutSeconds (%v): the API server would give up before the webhook can answer" $timeout .Values.webhook.timeoutSeconds) -}}
{{- end -}}
{{- if eq (int .Values.webhook.port) (int .Values.webhook.opsPort) -}}
{{- $found = append $found (printf "webhook.port and webhook.opsPort are both %v: give them different ports" .Values.webhook.port) -}}
{{- end -}}
{{- if and .Values.hostNetwork (eq (int .Values.webhook.port) 10250) -}}
{{- $found = append $found "hostNetwork is true, and webhook.port is 10250, which is the kubelet's on every node: give another port" -}}
{{- end -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) -}}
{{- $found = append $found "serviceAccount.create is false: name the one that exists in serviceAccount.name" -}}
{{- end -}}

{{- $known := include "hami-dra-webhook.knownProfiles" . | fromYamlArray -}}
{{- if not .Values.driverProfiles -}}
{{- range $key, $profile := .Values.settings.bindings.nvidia -}}
{{- if and $profile (not (has $profile $known)) -}}
{{- $found = append $found (printf "settings.bindings.nvidia.%s is %s, and there is no such driver profile: choose one of %s, or add yours in driverProfiles" $key $profile (join ", " $known)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $classes := list -}}
{{- range .Values.deviceClasses -}}
{{- if has .name $classes -}}
{{- $found = append $found (printf "deviceClasses names %s twice: leave one out" .name) -}}
{{- end -}}
{{- $classes = append $classes .name -}}
{{- if has .name (include "hami-dra-webhook.foreignClasses" $ | fromYamlArray) -}}
{{- $found = append $found (printf "deviceClasses names %s, which the chart of its driver makes: leave it out here" .name) -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* What a replica needs beside one preview that is being made, in MiB: 128 for reviews, 80 for a worker that has nothing to do, and
39 for each of the 4 previews that are let in (7 of input, 32 of answer). */}}
{{- define "hami-dra-webhook.besidePreviewMiB" -}}
364
{{- end -}}

{{/* The profiles that the image contains (app/drivers/profiles). */}}
{{- define "hami-dra-webhook.knownProfiles" -}}
- gpu.example.com
- gpu.nvidia.com
- gpu.nvidia.com-memory
- gpu.nvidia.com-shares
- gpu.nvidia.com-unlimited
- hami-core-gpu.project-hami.io
{{- end -}}

{{/* DeviceClasses that the drivers' own charts make. */}}
{{- define "hami-dra-webhook.foreignClasses" -}}
- hami-core-gpu.project-hami.io
- gpu.nvidia.com
- mig.nvidia.com
- vfio.gpu.nvidia.com
- compute-domain-daemon.nvidia.com
- compute-domain-default-channel.nvidia.com
- dra.hygon.com
- gpu.amd.com
- gpu.intel.com
- gaudi.intel.com
- gpu.example.com
{{- end -}}
