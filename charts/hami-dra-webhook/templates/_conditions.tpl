{{/* The CEL of the MutatingWebhookConfiguration, from the very names that the server reads. Every optional field is guarded,
since a missing one would refuse the pod under `failurePolicy: Fail`. */}}

{{/* Some container or init container has a legacy key in limits or requests. */}}
{{- define "hami-dra-webhook.hasLegacyKey" -}}
{{- $names := .Values.settings.resourceNames -}}
{{- $exact := list $names.count $names.memory $names.memoryPercentage $names.cores $names.priority (print $names.count $names.sharedSuffix) -}}
{{- $quoted := list -}}
{{- range $exact }}{{ $quoted = append $quoted (toJson .) }}{{ end -}}
{{- $key := printf "k in [%s] || k.startsWith(%s)" (join ", " $quoted) (toJson $names.migPrefix) -}}
{{- $either := list -}}
{{- range list "limits" "requests" -}}
{{- $either = append $either (printf "has(c.resources.%s) && c.resources.%s.exists(k, %s)" . . $key) -}}
{{- end -}}
{{- $all := list -}}
{{- range list "object.spec.containers" "object.spec.initContainers" -}}
{{- $all = append $all (printf "has(%s) && %s != null && %s.exists(c, has(c.resources) && (%s))" . . . (join " || " $either)) -}}
{{- end -}}
{{- join " || " $all -}}
{{- end -}}

{{/* An object has a label or annotation. Call it with (list "object" "labels" KEY). */}}
{{- define "hami-dra-webhook.isSet" -}}
{{- $map := printf "%s.metadata.%s" (index . 0) (index . 1) -}}
{{- printf "has(%s) && %s in %s" $map (toJson (index . 2)) $map -}}
{{- end -}}

{{/* The pod has a label with a value. Call it with (list KEY VALUE). */}}
{{- define "hami-dra-webhook.hasLabel" -}}
{{- $isSet := include "hami-dra-webhook.isSet" (list "object" "labels" (index . 0)) -}}
{{- printf "%s && object.metadata.labels[%s] == %s" $isSet (toJson (index . 0)) (toJson (index . 1)) -}}
{{- end -}}

{{- define "hami-dra-webhook.notOptedOut" -}}
{{- $optIn := .Values.settings.optIn -}}
{{- $ours := include "hami-dra-webhook.hasLabel" (list $optIn.label $optIn.optOutValue) -}}
{{- $hamis := include "hami-dra-webhook.hasLabel" (list "hami.io/webhook" "ignore") -}}
{{- printf "!(%s) && !(%s)" $ours $hamis -}}
{{- end -}}

{{/* Namespaces that are never served: the release's own, and those whose pods a cluster needs to start. */}}
{{- define "hami-dra-webhook.leftOut" -}}
key: kubernetes.io/metadata.name
operator: NotIn
values:
  {{- concat (list .Release.Namespace "kube-system" "kube-node-lease") .Values.webhook.excludedNamespaces | uniq | toYaml | nindent 2 }}
{{- end -}}
