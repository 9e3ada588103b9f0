{{/* The server's settings file: what the values say, and what the chart knows. */}}
{{- define "hami-dra-webhook.settings" -}}
{{- $settings := deepCopy .Values.settings -}}
{{/* Helm drops a key that is set to null, and the server would take its default for it: S46 says that null means "keys stay". */}}
{{- range list "mig" "shared" -}}
{{- if not (hasKey $settings.bindings.nvidia .) -}}
{{- $_ := set $settings.bindings.nvidia . nil -}}
{{- end -}}
{{- end -}}
{{- $_ := set $settings.cluster "namespace" .Release.Namespace -}}
{{- $tls := dict "mode" .Values.certificates.mode -}}
{{- if eq .Values.certificates.mode "self-signed" -}}
{{- $_ := set $tls "secretName" (include "hami-dra-webhook.caSecret" .) -}}
{{- $_ := set $tls "serviceName" (include "hami-dra-webhook.fullname" .) -}}
{{- $_ := set $tls "clusterDomain" .Values.certificates.clusterDomain -}}
{{- $_ := set $tls "webhookConfiguration" (include "hami-dra-webhook.webhookConfiguration" .) -}}
{{- else -}}
{{- $_ := set $tls "certFile" "/etc/hami-dra-webhook/tls/tls.crt" -}}
{{- $_ := set $tls "keyFile" "/etc/hami-dra-webhook/tls/tls.key" -}}
{{- end -}}
{{- $_ := set $settings.server "tls" (merge $tls (default dict $settings.server.tls)) -}}
{{- $_ := set $settings.server "port" .Values.webhook.port -}}
{{- $_ := set $settings.server "opsPort" .Values.webhook.opsPort -}}
{{- with .Values.driverProfiles -}}
{{- $files := list -}}
{{- range $name, $_ := . }}{{ $files = append $files (printf "/etc/hami-dra-webhook/settings/%s" $name) }}{{ end -}}
{{- $_ := set $settings "driverProfiles" $files -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}
